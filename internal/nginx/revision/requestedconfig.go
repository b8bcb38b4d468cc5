package revision

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/configenv"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// requestedConfig returns the configuration that the spec requests. If it cannot be had, Blocked says why,
// and the result is the candidate, which was requested last; its revision is empty if there is none.
func (in *Input) requestedConfig() (Configuration, Blocked) {
	config, blocked := readConfig(in.Nginx, in.State, serviceFamilies(in.Nginx, in.State, in.Options.IPFamily))
	if blocked.Reason == "" {
		if len(in.State.MissingContent) > 0 {
			blocked = contentMissing(in.Nginx, in.State.MissingContent)
		}
		requested := Configuration{Config: config}
		if in.State.Source != nil {
			requested.Source = in.State.Source.Version
		}
		return requested, blocked
	}
	last := in.State.Config(naming.ConfigMapNext(in.Nginx.Name))
	if !observe.Rendered(last) || !metav1.IsControlledBy(last, in.Nginx) {
		return Configuration{}, blocked
	}
	return Configuration{
		Config: nginxconf.Config{Files: last.Data, Revision: last.Annotations[naming.AnnotationConfig]},
		Source: last.Annotations[naming.AnnotationConfigSourceVersion],
	}, blocked
}

func contentMissing(nginx *v1alpha2.NginxOperator, names []string) Blocked {
	maps, do, them := "ConfigMap", "does", "it"
	if len(names) > 1 {
		maps, do, them = "ConfigMaps", "do", "them"
	}
	return Blocked{
		Reason: v1alpha2.ReasonConfigMapNotFound,
		Message: fmt.Sprintf("%s %s, named by spec.content, %s not exist in namespace %s: create %s, or change spec.content",
			maps, strings.Join(names, ", "), do, nginx.Namespace, them),
	}
}

func readConfig(nginx *v1alpha2.NginxOperator, state observe.State, families []corev1.IPFamily) (nginxconf.Config, Blocked) {
	from, render := "spec.config.files", func() (nginxconf.Config, error) {
		return nginxconf.New(userFiles(nginx.Spec.Config.Files))
	}
	switch source := state.Source; {
	case nginx.Spec.Config == nil:
		from, render = "the built-in configuration", func() (nginxconf.Config, error) {
			return nginxconf.Default(portNumbers(nginx), slices.Contains(families, corev1.IPv6Protocol))
		}
	case source != nil && !source.Found:
		return nginxconf.Config{}, Blocked{
			Reason: v1alpha2.ReasonConfigMapNotFound,
			Message: fmt.Sprintf("ConfigMap %s, named by spec.config, does not exist in namespace %s: create it, or change spec.config",
				source.Name, nginx.Namespace),
		}
	case source != nil && source.RenderedFor != "":
		return nginxconf.Config{}, Blocked{
			Reason: v1alpha2.ReasonConfigInvalid,
			Message: fmt.Sprintf("ConfigMap %s was created by the operator for NginxOperator %s: name a ConfigMap of your own in spec.config, or, if this is a copy of your own, remove its label %s",
				source.Name, source.RenderedFor, naming.LabelApplication),
		}
	case source != nil && source.HasBinary:
		return nginxconf.Config{}, Blocked{
			Reason:  v1alpha2.ReasonConfigInvalid,
			Message: fmt.Sprintf("ConfigMap %s has binaryData: configuration files are text, move them to data", source.Name),
		}
	case source != nil:
		from, render = "ConfigMap "+source.Name, func() (nginxconf.Config, error) {
			return nginxconf.New(source.Files)
		}
	}
	config, err := render()
	if err != nil {
		return nginxconf.Config{}, Blocked{
			Reason:  v1alpha2.ReasonConfigInvalid,
			Message: fmt.Sprintf("%s: %v", from, err),
		}
	}
	return configenv.AddFile(AddChecksFile(config, &nginx.Spec, families), &nginx.Spec), Blocked{}
}

func userFiles(files map[string]v1alpha2.ConfigFile) nginxconf.Files {
	user := nginxconf.Files{}
	for name, text := range files {
		user[name] = string(text)
	}
	return user
}

func portNumbers(nginx *v1alpha2.NginxOperator) []int32 {
	var numbers []int32
	for _, p := range podtemplate.Ports(&nginx.Spec) {
		numbers = append(numbers, podtemplate.TargetPort(p))
	}
	return numbers
}
