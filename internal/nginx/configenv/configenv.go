// Package configenv derives from spec.config.env and envFrom what the pods mount, and the file by which their instance
// managers replace variables. It is pure.
package configenv

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// The kinds of objects with values.
const (
	Secret    = "Secret"
	ConfigMap = "ConfigMap"
)

// Object is an object with values, and the keys of which pods need the values; none: all of them.
type Object struct {
	instanceapi.VariableObject
	Keys []string
}

// Objects returns the objects that a configuration refers to, each once, in an order that does not depend on that in the
// spec.
func Objects(config *v1alpha2.Config) []Object {
	keys := map[instanceapi.VariableObject][]string{}
	all := map[instanceapi.VariableObject]bool{}
	for _, v := range declared(config).Variables {
		if v.Kind != "" {
			keys[v.VariableObject] = append(keys[v.VariableObject], v.Key)
		}
	}
	for _, from := range declared(config).From {
		all[from.VariableObject], keys[from.VariableObject] = true, nil
	}
	var objects []Object
	for o, needed := range keys {
		slices.Sort(needed)
		if all[o] {
			needed = nil
		}
		objects = append(objects, Object{o, slices.Compact(needed)})
	}
	slices.SortFunc(objects, func(a, b Object) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object)) })
	return objects
}

// AddFile adds the variables of a spec to a configuration, if it has any.
func AddFile(config nginxconf.Config, spec *v1alpha2.NginxOperatorSpec) nginxconf.Config {
	variables := declared(spec.Config)
	if len(variables.Variables) == 0 && len(variables.From) == 0 {
		return config
	}
	text, err := json.Marshal(variables)
	if err != nil {
		panic("configenv: strings are always encoded: " + err.Error())
	}
	return config.With(instanceapi.FileVariables, string(text))
}

// declared returns the variables of a configuration in the form for instances.
func declared(config *v1alpha2.Config) instanceapi.Variables {
	all := instanceapi.Variables{}
	if config == nil {
		return all
	}
	for _, v := range config.Env {
		variable := instanceapi.Variable{Name: v.Name, Value: v.Value}
		if from := v.ValueFrom; from != nil {
			variable.VariableObject, variable.Key = object(from)
		}
		all.Variables = append(all.Variables, variable)
	}
	slices.SortFunc(all.Variables, func(a, b instanceapi.Variable) int { return cmp.Compare(a.Name, b.Name) })
	for _, from := range config.EnvFrom {
		of := instanceapi.VariablesFrom{Prefix: ptr.Deref(from.Prefix, "")}
		switch {
		case from.SecretRef != nil:
			of.VariableObject = instanceapi.VariableObject{Kind: Secret, Object: from.SecretRef.Name}
		case from.ConfigMapRef != nil:
			of.VariableObject = instanceapi.VariableObject{Kind: ConfigMap, Object: from.ConfigMapRef.Name}
		}
		all.From = append(all.From, of)
	}
	return all
}

func object(from *v1alpha2.ConfigEnvVarSource) (instanceapi.VariableObject, string) {
	switch {
	case from.SecretKeyRef != nil:
		return instanceapi.VariableObject{Kind: Secret, Object: from.SecretKeyRef.Name}, from.SecretKeyRef.Key
	case from.ConfigMapKeyRef != nil:
		return instanceapi.VariableObject{Kind: ConfigMap, Object: from.ConfigMapKeyRef.Name}, from.ConfigMapKeyRef.Key
	}
	return instanceapi.VariableObject{}, ""
}
