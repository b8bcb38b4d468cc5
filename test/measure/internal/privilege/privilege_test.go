package privilege

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"example.com/nginx-operator/test/internal/audit"
)

func request(verb string, code int, o audit.Object) audit.Event {
	return audit.Event{Verb: verb, Object: &o, Response: audit.Response{Code: code}}
}

func TestUnused(t *testing.T) {
	rule := func(verbs []string, group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	deployment := audit.Object{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	pods := audit.Object{Resource: "pods", Namespace: "shop"}
	tests := []struct {
		name      string
		namespace string
		rule      rbacv1.PolicyRule
		requests  []audit.Event
		want      []string
	}{
		{"nothing was done", "", rule([]string{"list", "get"}, "", "pods"), nil, []string{"get pods", "list pods"}},
		{"one of two verbs", "", rule([]string{"list", "watch"}, "", "pods"),
			[]audit.Event{request("watch", 200, pods)}, []string{"list pods"}},
		{"an apply that changes", "", rule([]string{"create", "patch"}, "apps", "deployments"),
			[]audit.Event{request("patch", 200, deployment)}, []string{"create deployments.apps"}},
		{"an apply that creates", "", rule([]string{"create", "patch"}, "apps", "deployments"),
			[]audit.Event{request("patch", 201, deployment)}, nil},
		{"a creation needs no more than create", "", rule([]string{"create", "patch"}, "apps", "deployments"),
			[]audit.Event{request("create", 201, deployment)}, []string{"patch deployments.apps"}},
		{"a streamed list", "", rule([]string{"list", "watch"}, "", "pods"),
			[]audit.Event{{Verb: "watch", RequestURI: "/api/v1/pods?watch=true&sendInitialEvents=true", Object: &pods}}, nil},
		{"another group", "", rule([]string{"patch"}, "extensions", "deployments"),
			[]audit.Event{request("patch", 200, deployment)}, []string{"patch deployments.extensions"}},
		{"the subresource only", "", rule([]string{"patch"}, "apps", "deployments"),
			[]audit.Event{request("patch", 200, audit.Object{Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web"})},
			[]string{"patch deployments.apps"}},
		{"a subresource", "", rule([]string{"patch"}, "apps", "deployments/scale"),
			[]audit.Event{request("patch", 200, audit.Object{Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web"})}, nil},
		{"names", "", rule([]string{"patch"}, "apps", "deployments", "web", "shop"),
			[]audit.Event{request("patch", 200, deployment)}, []string{"patch deployments.apps named shop"}},
		{"in its namespace", "shop", rule([]string{"watch"}, "", "pods"), []audit.Event{request("watch", 200, pods)}, nil},
		{"in another namespace", "home", rule([]string{"watch"}, "", "pods"),
			[]audit.Event{request("watch", 200, pods)}, []string{"watch pods in home"}},
		{"was refused", "", rule([]string{"watch"}, "", "pods"), []audit.Event{request("watch", 403, pods)}, []string{"watch pods"}},
		{"failed for another reason", "", rule([]string{"patch"}, "apps", "deployments"), []audit.Event{request("patch", 409, deployment)}, nil},
		{"a wildcard", "", rule([]string{"*"}, "", "pods"), []audit.Event{request("watch", 200, pods)}, []string{"* pods"}},
		{"no resource", "", rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics", "/healthz"}},
			[]audit.Event{{Verb: "get", RequestURI: "/metrics?a=b"}}, []string{"get /healthz"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, g := range Unused(Permissions(tt.namespace, []rbacv1.PolicyRule{tt.rule}), tt.requests) {
				got = append(got, g.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadTokensAreUnique(t *testing.T) {
	rule := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "services"}}
	if got := Permissions("", []rbacv1.PolicyRule{rule, rule}); len(got) != 4 {
		t.Errorf("there are %d permissions: %v", len(got), got)
	}
}

func TestBinds(t *testing.T) {
	subjects := []rbacv1.Subject{
		{Kind: "Group", Name: "operator"},
		{Kind: "ServiceAccount", Namespace: "home", Name: "operator"},
	}
	if !Binds(subjects, "home", "operator") || Binds(subjects, "shop", "operator") || Binds(subjects[:1], "home", "operator") {
		t.Error("a binding names another account than it says")
	}
}

func TestForbidden(t *testing.T) {
	const user = "system:serviceaccount:home:operator"
	refused := func(message, decision string, causes ...audit.Cause) audit.Event {
		return audit.Event{
			Verb:        "patch",
			User:        audit.User{Username: user},
			Response:    audit.Response{Code: 403, Message: message, Details: audit.Details{Causes: causes}},
			Annotations: map[string]string{"authorization.k8s.io/decision": decision},
		}
	}
	requests := []audit.Event{
		request("patch", 201, audit.Object{Resource: "pods"}),
		request("patch", 409, audit.Object{Resource: "pods"}),
		refused("namespace shop is being terminated", "allow", audit.Cause{Reason: "NamespaceTerminating"}),
		refused("exceeded quota: small", "allow"),
		refused(`secrets is forbidden: User "`+user+`" cannot list resource "secrets"`, "forbid"),
		refused(`pods "web" is forbidden: User "`+user+`" cannot create resource "pods"`, "allow"),
	}
	got := Forbidden(requests)
	if diff := cmp.Diff([]string{"1 × exceeded quota: small"}, Messages(got.Admission)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`1 × pods "web" is forbidden: User "` + user + `" cannot create resource "pods"`,
		`1 × secrets is forbidden: User "` + user + `" cannot list resource "secrets"`,
	}
	if diff := cmp.Diff(want, Messages(got.Unauthorized)); diff != "" {
		t.Error(diff)
	}
}
