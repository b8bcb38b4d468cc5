package bundle

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"example.com/nginx-operator/hack/release/internal/project"
)

// depth is the depth of the descriptors: the fields of spec, and their fields.
const depth = 2

func crds(manifests []project.Object) []project.Object {
	var all []project.Object
	for _, o := range manifests {
		if o.Kind() == "CustomResourceDefinition" {
			all = append(all, o)
		}
	}
	return all
}

// ownedCRDs describes every served version of every CRD by its schema.
func ownedCRDs(manifests []project.Object) []jsonObject {
	var owned []jsonObject
	for _, crd := range crds(manifests) {
		kind, _ := crd.Get("spec.names.kind")
		versions, _ := crd.Get("spec.versions")
		for _, v := range versions.([]any) {
			version := project.Object(v.(jsonObject))
			schema, err := version.Get("schema.openAPIV3Schema")
			if err != nil {
				continue
			}
			owned = append(owned, jsonObject{
				"name": crd.Name(), "kind": kind, "version": version["name"], "displayName": displayName(kind.(string)),
				"description":       firstParagraph(schema),
				"resources":         resources[kind.(string)],
				"specDescriptors":   descriptors(schema, "spec"),
				"statusDescriptors": descriptors(schema, "status"),
			})
		}
	}
	return owned
}

// resources are the kinds of objects that belong to an object of a kind, for consoles to show.
var resources = map[string][]jsonObject{
	"NginxOperator": {
		{"kind": "Deployment", "version": "v1"}, {"kind": "Service", "version": "v1"},
		{"kind": "ConfigMap", "version": "v1"}, {"kind": "Pod", "version": "v1"},
		{"kind": "PodDisruptionBudget", "version": "v1"}, {"kind": "NetworkPolicy", "version": "v1"},
		{"kind": "Ingress", "version": "v1"}, {"kind": "HTTPRoute", "version": "v1"}, {"kind": "Certificate", "version": "v1"},
		{"kind": "ServiceAccount", "version": "v1"},
		{"kind": "ControllerRevision", "version": "v1"},
	},
	"NginxBackupPolicy": {
		{"kind": "NginxBackup", "version": "v1alpha1"},
		{"kind": "Job", "version": "v1"}, {"kind": "Pod", "version": "v1"}, {"kind": "ConfigMap", "version": "v1"},
	},
	"NginxBackup": {
		{"kind": "Job", "version": "v1"}, {"kind": "Pod", "version": "v1"}, {"kind": "ConfigMap", "version": "v1"},
	},
	"NginxRestore": {
		{"kind": "NginxOperator", "version": "v1alpha2"}, {"kind": "ConfigMap", "version": "v1"},
		{"kind": "Job", "version": "v1"}, {"kind": "Pod", "version": "v1"},
	},
}

func descriptors(schema any, part string) []jsonObject {
	root, err := project.Object(schema.(jsonObject)).Get("properties." + part)
	if err != nil {
		return nil
	}
	return below(root.(jsonObject), "", depth)
}

func below(schema jsonObject, prefix string, levels int) []jsonObject {
	properties, _ := schema["properties"].(jsonObject)
	var all []jsonObject
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		field := properties[name].(jsonObject)
		descriptor := jsonObject{"path": prefix + name, "displayName": displayName(name), "description": firstParagraph(field)}
		if kind := xDescriptor(prefix+name, field); kind != "" {
			descriptor["x-descriptors"] = []string{kind}
		}
		all = append(all, descriptor)
		if levels > 1 {
			all = append(all, below(field, prefix+name+".", levels-1)...)
		}
	}
	return all
}

// xDescriptor returns how a console edits or shows a field.
func xDescriptor(path string, field jsonObject) string {
	const ui = "urn:alm:descriptor:com.tectonic.ui:"
	switch path {
	case "replicas":
		return ui + "podCount"
	case "resources":
		return ui + "resourceRequirements"
	case "image":
		return ui + "text"
	case "conditions":
		return "urn:alm:descriptor:io.kubernetes.conditions"
	}
	switch field["type"] {
	case "boolean":
		return ui + "booleanSwitch"
	case "integer":
		return ui + "number"
	case "string":
		return ui + "text"
	}
	return ""
}

// firstParagraph returns the first paragraph of a description. The others are for developers.
func firstParagraph(schema any) string {
	text, _ := schema.(jsonObject)["description"].(string)
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(text), " ")
}

// displayName returns Max Unavailable for maxUnavailable.
func displayName(name string) string {
	var text strings.Builder
	var before rune
	for i, letter := range name {
		switch {
		case i == 0:
			letter = unicode.ToUpper(letter)
		case unicode.IsUpper(letter) && unicode.IsLower(before):
			text.WriteRune(' ')
		}
		text.WriteRune(letter)
		before = letter
	}
	return text.String()
}
