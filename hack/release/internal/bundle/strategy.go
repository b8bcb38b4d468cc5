package bundle

import (
	"maps"
	"slices"

	"example.com/nginx-operator/hack/release/internal/project"
)

// strategy is the Deployment and the rights of its account.
func strategy(manifests []project.Object, deployment project.Object) (object, error) {
	container, err := deployment.Get("spec.template.spec.containers." + project.Name)
	if err != nil {
		return nil, err
	}
	arguments, _ := container.(object)["args"].([]any)
	container.(object)["args"] = append(slices.Clone(arguments), "--webhook-cert-dir="+certificates)
	labels, err := deployment.Get("metadata.labels")
	if err != nil {
		return nil, err
	}
	return object{
		"deployments":        []object{{"name": project.Name, "label": labels, "spec": deployment["spec"]}},
		"permissions":        []object{permissions(manifests, "Role")},
		"clusterPermissions": []object{permissions(manifests, "ClusterRole")},
	}, nil
}

// permissions are the rules of all roles of a kind that are bound to the operator's account.
func permissions(manifests []project.Object, kind string) object {
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
		if role.Name() == webhook {
			more = ofMounted(more)
		}
		rules = append(rules, more...)
	}
	return object{"serviceAccountName": project.Name, "rules": rules}
}

// ofMounted are the rules of the webhook's certificate where OLM makes it: none of the Secret, and the
// CRD is read and updated, to put its CA back after OLM has replaced it. The published rules object to
// the right to patch a CRD.
func ofMounted(rules []any) []any {
	var all []any
	for _, rule := range rules {
		r := rule.(object)
		if slices.Contains(r["resources"].([]any), any("secrets")) {
			continue
		}
		kept := maps.Clone(r)
		kept["verbs"] = []any{"list", "watch", "get", "update"}
		all = append(all, kept)
	}
	return all
}
