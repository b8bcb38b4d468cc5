package report

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/internal/plugin/redact"
)

// dropped are annotations that hold copies of whole objects.
var dropped = []string{"kubectl.kubernetes.io/last-applied-configuration"}

// Sanitize removes from an object what nobody outside of the cluster needs, and hides what looks like a secret: values of
// environment variables, and texts in all other fields.
func Sanitize(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	for _, name := range dropped {
		delete(annotations, name)
	}
	object.SetAnnotations(annotations)
	// Nobody can see what it has.
	delete(object.Object, "binaryData")
	if object.GetKind() == "Secret" {
		// Nobody reads Secrets for a report; if one got here, nothing of it leaves.
		delete(object.Object, "data")
		delete(object.Object, "stringData")
	}
	object.Object, _ = sanitize(object.Object, "").(map[string]any)
}

// sanitize returns a value of a field without secrets.
func sanitize(value any, field string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = sanitizeField(v, key, inner, field)
		}
		return v
	case []any:
		return sanitizeList(v, field)
	case string:
		return sanitizeText(v)
	}
	return value
}

// sanitizeList returns a list without secrets. In arguments of a command, the value of a flag is the next one.
func sanitizeList(list []any, field string) []any {
	secret := false
	for i := range list {
		text, isText := list[i].(string)
		if secret && isText {
			list[i] = redact.Mask
		} else {
			list[i] = sanitize(list[i], field)
		}
		secret = isText && strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && secretName(strings.TrimLeft(text, "-"))
	}
	return list
}

// sanitizeText returns a text without secrets. JSON is looked at as an object: the operator keeps some in ConfigMaps.
func sanitizeText(text string) string {
	var inner any
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || json.Unmarshal([]byte(text), &inner) != nil {
		return redact.Text(text)
	}
	encoded, err := json.Marshal(sanitize(inner, ""))
	if err != nil {
		return redact.Mask
	}
	return string(encoded)
}

// valued are the lists whose items have values that may be secrets.
var valued = map[string]bool{"env": true, "variables": true, "httpHeaders": true, "headers": true}

// sanitizeField returns the value of a field of an object. Beside a name, a value in a list of variables or headers may be a
// secret whatever it looks like.
func sanitizeField(of map[string]any, key string, value any, list string) any {
	text, isText := value.(string)
	if !isText {
		return sanitize(value, key)
	}
	_, named := of["name"]
	switch {
	case key == "value" && named && valued[list]:
		return redact.Mask
	case key == "name" || key == "secretName" || key == "namespace" || key == "uid":
		return value
	case secretName(key):
		// The name of the field counts, as it does in a text.
		return redact.Mask
	}
	return sanitizeText(text)
}

// secretName reports whether the value of a field with this name is hidden in a text.
func secretName(key string) bool {
	return strings.Contains(redact.Text(key+": x1"), redact.Mask)
}
