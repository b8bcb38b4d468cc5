package apply

import (
	"strings"

	"example.com/nginx-operator/internal/kube/owned"
)

// operation is one step of a JSON patch (RFC 6902). The steps are built by hand: a library computes the difference of
// two objects, which would remove what other clients added, and these patches change a few known places only.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// ofVersion makes a patch apply to this version of an object only. For another version, the patch is a conflict,
// whereas a failing test operation would look like a refusal.
func ofVersion(live owned.Object) operation {
	return operation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}
}

// pointer returns a key as it is written in a JSON pointer (RFC 6901).
func pointer(key string) string { return jsonPointerEscaper.Replace(key) }

// jsonPointerEscaper is created once, because creating it costs more than using it.
var jsonPointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
