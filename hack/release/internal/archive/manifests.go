package archive

import (
	"bytes"
	"context"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// installs are the manifests to apply. In their descriptions, IMAGE stands for the placeholder.
var installs = []struct{ file, kustomization, about string }{
	{"install.yaml", "config/default", `for all namespaces.
Replace the image IMAGE with one that your nodes can pull, then:
kubectl apply --server-side -f install.yaml`},
	{"install-namespaced-crd.yaml", "config/namespaced/crd", `the API, for installs without the conversion webhook.
kubectl apply --server-side -f install-namespaced-crd.yaml`},
	{"install-namespaced.yaml", "config/namespaced", `for one namespace, with Roles only, after install-namespaced-crd.yaml.
Replace the namespace ` + project.Namespace + ` with yours and the image IMAGE with one that your nodes can pull.`},
	{"migrate-storage.yaml", "config/migration", `stores every NginxOperator in the newest version of the API.
Replace the image IMAGE with the operator's, apply it, and delete it when the Job has completed.`},
	{"console.yaml", "config/console", `the console for many users.
Replace the image IMAGE with the operator's, create the Secret nginx-operator-console-tls with its certificate, then:
kubectl apply --server-side -f console.yaml`},
	{"alerts.yaml", "config/prometheus", `alerts, for clusters with the Prometheus Operator.
kubectl apply --server-side -f alerts.yaml`},
	{"refuse-unconverted.yaml", "config/policy", `refuses writes as v1alpha1 while no webhook converts them, for the Operator Lifecycle Manager.
kubectl apply --server-side -f refuse-unconverted.yaml`},
	{"restricted.yaml", "config/policy/restricted", `limits what the objects of labelled namespaces may declare.
Fill the ConfigMap nginx-operator-restricted, then:
kubectl apply --server-side -f restricted.yaml
kubectl label namespace NAME policy.operator.example.com/enforce=restricted`},
}

func (a *Archive) manifests(context.Context) error {
	for _, install := range installs {
		objects, err := a.RenderKustomization(install.kustomization)
		if err != nil {
			return err
		}
		about := strings.ReplaceAll(strings.ReplaceAll(install.about, "IMAGE", a.Image()), "\n", "\n# ")
		text := bytes.NewBufferString("# " + project.Name + " " + a.Version + ": " + about + "\n")
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
		a.files[install.file] = text.Bytes()
	}
	return nil
}
