// applicationPath returns the address of the view of an application.
export const applicationPath = (namespace, name) => `#/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
