// Package privilege compares what an account may do with what it did. Its functions are pure.
//
// Every combination of a rule's groups, resources, verbs and names is a separate permission. A permission is used
// if a request needed it. A wildcard always allows more than was used, so it never counts as used.
package privilege

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"example.com/nginx-operator/test/internal/audit"
)

// Permission is a single permission of an account.
type Permission struct {
	// Namespace is where it applies; empty: in all namespaces, and to cluster-scoped objects.
	Namespace string
	Verb      string
	Group     string
	// Resource includes the subresource after a slash.
	Resource string
	// Name is the name of the only object that it applies to; empty: any.
	Name string
	// Path is set for a non-resource URL, instead of Group and Resource.
	Path string
}

// String returns the permission in a form like `get leases.coordination.k8s.io named web in shop`.
func (g Permission) String() string {
	if g.Path != "" {
		return g.Verb + " " + g.Path
	}
	text := g.Verb + " " + g.Resource
	if g.Group != "" {
		text += "." + g.Group
	}
	if g.Name != "" {
		text += " named " + g.Name
	}
	if g.Namespace != "" {
		text += " in " + g.Namespace
	}
	return text
}

// Binds reports whether a binding names a service account.
func Binds(subjects []rbacv1.Subject, namespace, name string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == namespace && s.Name == name
	})
}

// Permissions returns the permissions of rules in a namespace.
func Permissions(namespace string, rules []rbacv1.PolicyRule) []Permission {
	var permissions []Permission
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				permissions = append(permissions, Permission{Verb: verb, Path: path})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range orAny(rule.ResourceNames) {
						permissions = append(permissions, Permission{namespace, verb, group, resource, name, ""})
					}
				}
			}
		}
	}
	return Unique(permissions)
}

func orAny(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// Unique sorts permissions and removes duplicates.
func Unique(permissions []Permission) []Permission {
	slices.SortFunc(permissions, func(a, b Permission) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Group, b.Group),
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(permissions)
}

// Unused returns the permissions that no request needed.
func Unused(permissions []Permission, requests []audit.Event) []Permission {
	needed := map[Permission]bool{}
	for _, e := range requests {
		for _, verb := range verbs(e) {
			needed[need(e, verb)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(permissions), func(g Permission) bool {
		for n := range needed {
			if g.covers(n) {
				return true
			}
		}
		return false
	})
}

// covers reports whether the permission allows what is needed.
func (g Permission) covers(n Permission) bool {
	return g.Verb == n.Verb && g.Group == n.Group && g.Resource == n.Resource && g.Path == n.Path &&
		(g.Namespace == "" || g.Namespace == n.Namespace) &&
		(g.Name == "" || g.Name == n.Name)
}

func need(e audit.Event, verb string) Permission {
	if e.Object == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return Permission{Verb: verb, Path: path}
	}
	return Permission{e.Object.Namespace, verb, e.Object.Group, e.Resource(), e.Object.Name, ""}
}

// verbs returns the verbs that the API server checked for a request.
func verbs(e audit.Event) []string {
	const forbidden, created = 403, 201
	switch {
	case e.Response.Code == forbidden:
		// A refused request used no permission.
		return nil
	case e.Response.Code == created && e.Verb != "create":
		// A patch or update that creates the object needs both verbs
		// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#api-implementation).
		return []string{e.Verb, "create"}
	case e.Verb == "watch" && e.Lists():
		// If the API server does not stream lists, the client lists before it watches.
		return []string{"watch", "list"}
	}
	return []string{e.Verb}
}
