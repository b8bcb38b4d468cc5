package bundle

import (
	"maps"
	"slices"

	"example.com/nginx-operator/hack/release/internal/project"
)

// strategy returns the Deployment and the permissions of its account.
func strategy(manifests []project.Object, deployment project.Object) (jsonObject, error) {
	container, err := deployment.Get("spec.template.spec.containers." + project.Name)
	if err != nil {
		return nil, err
	}
	arguments, _ := container.(jsonObject)["args"].([]any)
	container.(jsonObject)["args"] = append(slices.Clone(arguments), "--webhook-cert-dir="+certificates)
	labels, err := deployment.Get("metadata.labels")
	if err != nil {
		return nil, err
	}
	return jsonObject{
		"deployments":        []jsonObject{{"name": project.Name, "label": labels, "spec": deployment["spec"]}},
		"permissions":        []jsonObject{permissions(manifests, "Role")},
		"clusterPermissions": []jsonObject{permissions(manifests, "ClusterRole")},
	}, nil
}

// permissions returns the rules of all roles of a kind that are bound to the operator's account.
func permissions(manifests []project.Object, kind string) jsonObject {
	var rules []any
	for _, binding := range manifests {
		if binding.Kind() != kind+"Binding" {
			continue
		}
		role, err := project.Find(manifests, kind, roleOf(binding))
		if err != nil {
			continue
		}
		more, _ := role["rules"].([]any)
		if role.Name() == webhookCertName {
			more = rulesWithOLMCertificate(more)
		}
		rules = append(rules, more...)
	}
	return jsonObject{"serviceAccountName": project.Name, "rules": rules}
}

// rulesWithOLMCertificate returns the rules for the webhook's certificate if OLM creates it: none for the Secret,
// and read and update for the CRD, to restore its CA after OLM has replaced the CRD. The published
// rules reject the permission to patch CRDs.
func rulesWithOLMCertificate(rules []any) []any {
	var all []any
	for _, rule := range rules {
		r := rule.(jsonObject)
		if slices.Contains(r["resources"].([]any), any("secrets")) {
			continue
		}
		kept := maps.Clone(r)
		kept["verbs"] = []any{"list", "watch", "get", "update"}
		all = append(all, kept)
	}
	return all
}
