package chart

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// clusterWide is what templates ask where an install for certain namespaces has nothing.
const clusterWide = "not $.Values.watchNamespaces"

// edit replaces what a manifest has at a path by a piece of a template. A last step of + is
// a new element of a list, and one of * are further keys of a mapping.
//
// In the piece, @ stands for the indentation of the key that is replaced, and @+ for that of
// what is below it. It is written in line with the Go code; its own indentation does not count.
type edit struct{ path, piece string }

const (
	podSpec   = "spec.template.spec."
	container = podSpec + "containers." + project.Name + "."
)

// optional is a piece for a value that is left out where it is empty.
func optional(key, value string) string {
	return fmt.Sprintf(`
		{{- with %s }}
		%s:
		  {{- toYaml . | nindent @+ }}
		{{- end }}`, value, key)
}

// further is a piece for further keys of a mapping.
func further(value string) string {
	return fmt.Sprintf(`
		{{- with %s }}
		{{- toYaml . | nindent @ }}
		{{- end }}`, value)
}

// deploymentEdits are what values set of the operator's Deployment.
func deploymentEdits() []edit {
	return []edit{
		{"spec.replicas", "replicas: {{ $.Values.replicas }}"},
		{"spec.template.metadata.annotations.*", further("$.Values.podAnnotations")},
		{"spec.template.metadata.labels.*", further("$.Values.podLabels")},
		{podSpec + "imagePullSecrets", optional("imagePullSecrets", "$.Values.imagePullSecrets")},
		{podSpec + "priorityClassName", `
		{{- with include "nginx-operator.priorityClassName" $ }}
		priorityClassName: {{ . }}
		{{- end }}`},
		{podSpec + "nodeSelector", optional("nodeSelector", "$.Values.nodeSelector")},
		{podSpec + "tolerations", optional("tolerations", "$.Values.tolerations")},
		{podSpec + "affinity", optional("affinity", "$.Values.affinity")},
		{podSpec + "topologySpreadConstraints", optional("topologySpreadConstraints", "$.Values.topologySpreadConstraints")},
		{container + "image", `image: {{ include "nginx-operator.image" $ | quote }}`},
		{container + "imagePullPolicy", "imagePullPolicy: {{ $.Values.image.pullPolicy }}"},
		{container + "*", optional("args", `include "nginx-operator.args" $ | fromYamlArray`)},
		{container + "env.RELATED_IMAGE_NGINX.value", "value: {{ $.Values.nginxImage | quote }}"},
		{container + "env.+", further("$.Values.extraEnv")},
		{container + "resources", optional("resources", "$.Values.resources")},
	}
}

// crdEdits keep the CRD, and switch the conversion off where no webhook can be.
func crdEdits(object project.Object) ([]edit, error) {
	edits := []edit{{"metadata.annotations.*", "helm.sh/resource-policy: keep"}}
	if !object.Has("spec.conversion") {
		// It has one version only.
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

// editsOf are all edits of a manifest.
func editsOf(object project.Object) ([]edit, error) {
	edits := []edit{{"metadata.labels.*", `{{- include "nginx-operator.labels" $ | nindent @ }}`}}
	switch object.Kind() {
	case "Deployment":
		edits = append(edits, deploymentEdits()...)
	case "ServiceAccount":
		edits = append(edits, edit{"metadata.*", optional("annotations", "$.Values.serviceAccount.annotations")})
	case "CustomResourceDefinition":
		more, err := crdEdits(object)
		if err != nil {
			return nil, err
		}
		edits = append(edits, more...)
	}
	return edits, nil
}

// conditions are what has to hold for a manifest to be rendered.
func conditions(object project.Object, everywhereOnly bool) []string {
	var all []string
	if everywhereOnly {
		all = append(all, "("+clusterWide+")")
	}
	switch {
	case object.Kind() == "CustomResourceDefinition":
		all = append(all, "$.Values.crd.install")
	case object.Kind() == "PodDisruptionBudget":
		all = append(all, "$.Values.podDisruptionBudget.enabled")
	case strings.HasPrefix(object.Name(), project.Name+"-metrics"):
		all = append(all, "$.Values.metrics.enabled")
	}
	return all
}
