package importer

import (
	"strings"
	"testing"
)

const policyWorkload = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: web}
spec:
  template:
    metadata: {labels: {app: shop, app.kubernetes.io/name: shop, app.kubernetes.io/component: edge}}
    spec: {containers: [{name: nginx, image: nginx}]}
---
`

// TestNetworkPolicies: a step names each policy that selects the old pods and not those of the application.
func TestNetworkPolicies(t *testing.T) {
	const (
		copied  = "Create a copy of the NetworkPolicy guard"
		checked = "Check the NetworkPolicy guard"
		unread  = "Check the AuthorizationPolicy guard"
		missing = "Pass the NetworkPolicies of the namespace web"
	)
	policy := func(selector string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: guard, namespace: web}\n" +
			"spec: {podSelector: " + selector + "}\n"
	}
	byName := policy("{matchLabels: {app.kubernetes.io/name: shop}}")
	byComponent := policy("{matchLabels: {app.kubernetes.io/component: edge}}")
	byExpression := policy("{matchExpressions: [{key: app.kubernetes.io/name, operator: NotIn, values: [nginx]}]}")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: shop, namespace: web, labels: {app: shop}}\n" +
		"spec: {containers: [{name: nginx, image: nginx}]}\n---\n"
	mesh := "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: guard}\n"
	for name, tt := range map[string]struct {
		input     string
		namespace string
		want      string
	}{
		"none":                             {policyWorkload, "", missing},
		"one of another namespace":         {policyWorkload + strings.ReplaceAll(byName, "web", "other"), "", missing},
		"a label of the operator":          {policyWorkload + byName, "", copied},
		"a label that is not carried over": {policyWorkload + byComponent, "", copied},
		"an expression":                    {policyWorkload + byExpression, "", copied},
		"a label that the cluster sets":    {policyWorkload + policy("{matchLabels: {app: shop, pod-template-hash: '7'}}"), "", copied},
		"a selector that is not valid":     {policyWorkload + policy("{matchExpressions: [{key: app, operator: Near}]}"), "", copied},
		"a Pod":                            {pod + policy("{matchLabels: {app: shop}}"), "", copied},
		"without a namespace":              {strings.ReplaceAll(policyWorkload+byName, ", namespace: web", ""), "", copied},
		"every pod, from elsewhere":        {policyWorkload + policy("{}"), "new", copied + " in the namespace new"},
		"a label that stays":               {policyWorkload + policy("{matchLabels: {app: shop}}"), "", ""},
		"every pod":                        {policyWorkload + policy("{}"), "", ""},
		"other pods":                       {policyWorkload + policy("{matchLabels: {app.kubernetes.io/name: other}}"), "", ""},
		"only the new pods":                {policyWorkload + policy("{matchLabels: {app.kubernetes.io/name: nginx}}"), "", checked},
		"another kind":                     {policyWorkload + policy("{}") + mesh, "", unread},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(tt.input)}}, Options{Namespace: tt.namespace})
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, step := range result.Review.Steps {
				if strings.Contains(step, "Polic") {
					found = append(found, step)
				}
			}
			got := strings.Join(found, "\n")
			if (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) || len(found) > 1 {
				t.Errorf("steps:\n%s\nwant one that begins with %q", got, tt.want)
			}
			const selector = "podSelector: {matchLabels: {operator.example.com/nginxoperator: shop}}"
			if strings.HasPrefix(tt.want, copied) && !strings.Contains(got, selector) {
				t.Errorf("the step does not name the selector %q:\n%s", selector, got)
			}
		})
	}
}
