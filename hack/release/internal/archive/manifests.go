package archive

import (
	"bytes"
	"context"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// installs are the manifests to apply, by file.
var installs = map[string]string{
	"install.yaml":                "config/default",
	"install-namespaced-crd.yaml": "config/namespaced/crd",
	"install-namespaced.yaml":     "config/namespaced",
	"migrate-storage.yaml":        "config/migration",
}

func (a *Archive) manifests(context.Context) error {
	for name, kustomization := range installs {
		objects, err := a.Build(kustomization)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		text.WriteString("# " + project.Name + " " + a.Version + ": " + about[name] + "\n")
		for _, object := range objects {
			if err := object.AddLabels(map[string]any{"app.kubernetes.io/version": a.Version}); err != nil {
				return err
			}
			encoded, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			text.WriteString("---\n")
			text.Write(encoded)
		}
		a.files[name] = text.Bytes()
	}
	return nil
}

var about = map[string]string{
	"install.yaml": "for all namespaces. Replace the image " + placeholder +
		" by one that your nodes can pull, then:\n# kubectl apply --server-side -f install.yaml",
	"install-namespaced-crd.yaml": "the API, for installs without the conversion webhook.\n" +
		"# kubectl apply --server-side -f install-namespaced-crd.yaml",
	"install-namespaced.yaml": "for one namespace, with a Role alone, after install-namespaced-crd.yaml.\n" +
		"# Replace the namespace " + project.Namespace + " by yours and the image " + placeholder +
		" by one that your nodes can pull.",
	"migrate-storage.yaml": "stores every NginxOperator in the newest version of the API.\n" +
		"# Replace the image " + placeholder + " by the operator's, apply it, and delete it when the Job has completed.",
}

const placeholder = "example.com/nginx-operator"
