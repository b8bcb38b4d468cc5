package desired

import (
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// resolved is a configuration and where it comes from.
type resolved struct {
	nginxconf.Config
	// source is the version of the referenced ConfigMap that holds these very
	// files; empty when they come from elsewhere.
	source string
}

// requestedConfig is the configuration that the spec asks for. When it cannot be had,
// blocked tells why, and it is the one that was asked for last, the candidate; its
// revision is empty when there is none.
func requestedConfig(nginx *v1alpha2.NginxOperator, state observe.State) (resolved, Blocked) {
	config, blocked := readConfig(nginx, state)
	if blocked.Reason == "" {
		requested := resolved{Config: config}
		if state.Source != nil {
			requested.source = state.Source.Version
		}
		return requested, blocked
	}
	last := state.Config(naming.ConfigMapNext(nginx.Name))
	if !observe.Rendered(last) || !IsControlledBy(last, nginx) {
		return resolved{}, blocked
	}
	return resolved{
		Config: nginxconf.Config{Files: last.Data, Revision: last.Annotations[naming.AnnotationConfig]},
		source: last.Annotations[naming.AnnotationConfigSource],
	}, blocked
}

func readConfig(nginx *v1alpha2.NginxOperator, state observe.State) (nginxconf.Config, Blocked) {
	from, render := "spec.config.files", func() (nginxconf.Config, error) {
		return nginxconf.New(userFiles(nginx.Spec.Config.Files))
	}
	switch source := state.Source; {
	case nginx.Spec.Config == nil:
		from, render = "the built-in configuration", func() (nginxconf.Config, error) {
			return nginxconf.Default(portNumbers(nginx))
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
			Message: fmt.Sprintf("ConfigMap %s is what the operator rendered for NginxOperator %s: name a ConfigMap of your own in spec.config, or, if this is a copy of your own, take its label %s away",
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
	return WithChecks(config, &nginx.Spec), Blocked{}
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
	for _, p := range ports(&nginx.Spec) {
		numbers = append(numbers, p.Port)
	}
	return numbers
}
