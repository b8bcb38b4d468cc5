// The token of the viewer, and requests with it. The token stays in this tab.

const KEY = 'nginx-console-token', NAMESPACE_KEY = 'nginx-console-namespace';
let token = sessionStorage.getItem(KEY) ?? '';

// takeToken returns the token of the URL that the command printed, and removes it from the address bar.
export function takeToken() {
  const given = /^#token=([A-Za-z0-9]+)$/.exec(location.hash);
  if (!given) return '';
  history.replaceState(null, '', '#/');
  return given[1];
}

export function setToken(value) {
  token = value;
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

export const hasToken = () => token !== '';

// namespace is the one that the viewer has chosen; empty: none.
export const namespace = () => sessionStorage.getItem(NAMESPACE_KEY) ?? '';
export const setNamespace = (name) => sessionStorage.setItem(NAMESPACE_KEY, name);

// forget forgets the viewer.
export function forget() {
  setToken('');
  sessionStorage.removeItem(NAMESPACE_KEY);
}

// Refusal is an error in the words of the server.
export class Refusal extends Error {
  constructor(status, body) {
    super(body.error ?? `the console answered with status ${status}`);
    this.status = status;
    this.reason = body.reason ?? '';
  }
}

// request sends a request, and returns the response, or throws a Refusal.
export async function request(path, options = {}) {
  const headers = {...options.headers};
  if (token) headers.Authorization = `Bearer ${token}`;
  // Without a token, a proxy before the console may know the viewer by a cookie, and add the token.
  const response = await fetch(path, {...options, headers, credentials: token ? 'omit' : 'same-origin', redirect: 'error'});
  if (response.ok) return response;
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A proxy in between may answer with something else than JSON: the status says enough.
  }
  throw new Refusal(response.status, body);
}

export const get = async (path) => (await request(path)).json();

export const post = async (path, body) =>
  (await request(path, {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}})).json();
