package chart

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// clusterWide is the condition of templates that an install for certain namespaces does not have.
const clusterWide = "not $.Values.watchNamespaces"

// edit replaces the value at a path of a manifest by a piece of a template. A last step of + adds
// an element to a list, and one of * adds keys to a mapping.
//
// In the piece, @ stands for the indentation of the replaced key, and @+ for that of its content.
// Pieces are indented like the Go code around them; that indentation is removed.
type edit struct{ path, piece string }

const (
	podSpec   = "spec.template.spec."
	container = podSpec + "containers." + project.Name + "."
	// consoleName is the name of all objects of the console.
	consoleName      = project.Name + "-console"
	consoleContainer = podSpec + "containers.console."
)

// fieldIfSet returns a piece for a value that is left out if it is empty.
func fieldIfSet(key, value string) string {
	return fmt.Sprintf(`
		{{- with %s }}
		%s:
		  {{- toYaml . | nindent @+ }}
		{{- end }}`, value, key)
}

// further returns a piece for additional keys of a mapping.
func further(value string) string {
	return fmt.Sprintf(`
		{{- with %s }}
		{{- toYaml . | nindent @ }}
		{{- end }}`, value)
}

// podEdits returns the edits for the values of all pods that run the operator's image.
func podEdits(container string) []edit {
	return []edit{
		{podSpec + "imagePullSecrets", fieldIfSet("imagePullSecrets", "$.Values.imagePullSecrets")},
		{podSpec + "priorityClassName", `
		{{- with $.Values.priorityClassName }}
		priorityClassName: {{ . }}
		{{- end }}`},
		{podSpec + "nodeSelector", fieldIfSet("nodeSelector", "$.Values.nodeSelector")},
		{podSpec + "tolerations", fieldIfSet("tolerations", "$.Values.tolerations")},
		{podSpec + "affinity", fieldIfSet("affinity", "$.Values.affinity")},
		{container + "image", `image: {{ include "nginx-operator.image" $ | quote }}`},
		{container + "imagePullPolicy", "imagePullPolicy: {{ $.Values.image.pullPolicy }}"},
	}
}

// consoleEdits returns the edits for the values of the console's Deployment.
func consoleEdits() []edit {
	return append(podEdits(consoleContainer), []edit{
		{"spec.replicas", "replicas: {{ $.Values.console.replicas }}"},
		{consoleContainer + "args", `
		args:
		  {{- include "nginx-operator.consoleArgs" $ | nindent @+ }}`},
		{consoleContainer + "resources", fieldIfSet("resources", "$.Values.console.resources")},
		{podSpec + "volumes.tls.secret.secretName", "secretName: {{ $.Values.console.tlsSecret | quote }}"},
		{podSpec + "volumes.tls.secret.*", `
		{{- if $.Values.console.insecureHTTP }}
		optional: true
		{{- end }}`},
	}...)
}

// deploymentEdits returns the edits for the values of the operator's Deployment.
func deploymentEdits() []edit {
	return append(podEdits(container), []edit{
		{"spec.replicas", "replicas: {{ $.Values.replicas }}"},
		{"spec.template.metadata.annotations.*", further("$.Values.podAnnotations")},
		{"spec.template.metadata.labels.*", further("$.Values.podLabels")},
		{podSpec + "topologySpreadConstraints", fieldIfSet("topologySpreadConstraints", "$.Values.topologySpreadConstraints")},
		{container + "*", fieldIfSet("args", `include "nginx-operator.args" $ | fromYamlArray`)},
		{container + "env.RELATED_IMAGE_NGINX.value", "value: {{ $.Values.nginxImage | quote }}"},
		{container + "env.+", further("$.Values.extraEnv")},
		{container + "resources", fieldIfSet("resources", "$.Values.resources")},
	}...)
}

// crdEdits returns edits that keep the CRD, and that disable the conversion if there can be no
// webhook.
func crdEdits(object project.Object) ([]edit, error) {
	edits := []edit{{"metadata.annotations.*", "helm.sh/resource-policy: keep"}}
	if !object.Has("spec.conversion") {
		// The CRD has only one version.
		return edits, nil
	}
	conversion, err := object.Get("spec.conversion")
	if err != nil {
		return nil, err
	}
	webhook, err := yaml.Marshal(map[string]any{"conversion": conversion})
	if err != nil {
		return nil, err
	}
	edits = append(edits, edit{"spec.conversion", `
		{{- if ` + clusterWide + ` }}
		` + strings.ReplaceAll(strings.TrimSpace(string(webhook)), "\n", "\n\t\t") + `
		{{- else }}
		conversion:
		  strategy: None
		{{- end }}`})
	versions, err := object.Get("spec.versions")
	if err != nil {
		return nil, err
	}
	for i, version := range versions.([]any) {
		if stored, _ := version.(map[string]any)["storage"].(bool); !stored {
			edits = append(edits, edit{fmt.Sprintf("spec.versions.%d.served", i), "served: {{ " + clusterWide + " }}"})
		}
	}
	return edits, nil
}

// editsOf returns all edits of a manifest.
func editsOf(object project.Object) ([]edit, error) {
	edits := []edit{{"metadata.labels.*", `{{- include "nginx-operator.labels" $ | nindent @ }}`}}
	if ofConsole(object) {
		return append(edits, editsOfConsole(object)...), nil
	}
	switch object.Kind() {
	case "Deployment":
		edits = append(edits, deploymentEdits()...)
	case "ServiceAccount":
		edits = append(edits, edit{"metadata.*", fieldIfSet("annotations", "$.Values.serviceAccount.annotations")})
	case "CustomResourceDefinition":
		more, err := crdEdits(object)
		if err != nil {
			return nil, err
		}
		edits = append(edits, more...)
	}
	return edits, nil
}

// editsOfConsole returns the edits of a manifest of the console.
func editsOfConsole(object project.Object) []edit {
	switch object.Kind() {
	case "Deployment":
		return consoleEdits()
	case "Service":
		return []edit{{"spec.ports.console.port", "port: {{ ternary 80 443 $.Values.console.insecureHTTP }}"}}
	default:
		return nil
	}
}

// conditions returns the conditions under which a manifest is rendered.
func conditions(object project.Object, everywhereOnly bool) []string {
	var all []string
	if everywhereOnly {
		all = append(all, "("+clusterWide+")")
	}
	if object.Kind() == "NetworkPolicy" {
		all = append(all, "$.Values.networkPolicy.enabled")
	}
	switch {
	case ofConsole(object):
		all = append(all, "$.Values.console.enabled")
	case object.Kind() == "CustomResourceDefinition":
		all = append(all, "$.Values.crd.install")
	case object.Kind() == "PodDisruptionBudget":
		all = append(all, "$.Values.podDisruptionBudget.enabled")
	case strings.HasPrefix(object.Name(), project.Name+"-metrics"):
		all = append(all, "$.Values.metrics.enabled")
	}
	return all
}
