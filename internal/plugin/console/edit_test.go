package console

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/plugin/edits"
)

func TestCommand(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	for _, tt := range []struct {
		command   string
		arguments []string
		want      string
	}{
		{"restart", nil, "kubectl nginx restart web -n shop"},
		{"scale", []string{"3"}, "kubectl nginx scale web 3 -n shop"},
		{"set image", []string{"r.example.com/nginx:1.30@sha256:0a"}, "kubectl nginx set image web r.example.com/nginx:1.30@sha256:0a -n shop"},
		{"set image", []string{"a b;rm -rf ~ $(x) 'y'"}, `kubectl nginx set image web 'a b;rm -rf ~ $(x) '\''y'\''' -n shop`},
		{"approve", []string{""}, "kubectl nginx approve web '' -n shop"},
	} {
		if got := command(edits.Edit{Command: tt.command}, key, tt.arguments); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
