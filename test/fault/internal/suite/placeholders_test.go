package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFill(t *testing.T) {
	s := &Stage{Texts: map[string]string{"certificate-a1": "A\nB", "key-a1": "K"}}
	fields := map[string]any{
		"number": int64(2), "nothing": nil, "plain": "$x {y} $(z)",
		"data": map[string]any{"tls.crt": "${certificate-a1}", "both": "${key-a1}, ${certificate-a1}"},
		"list": []any{"${key-a1}", map[string]any{"a": "${key-a1}"}, true},
	}
	want := map[string]any{
		"number": int64(2), "nothing": nil, "plain": "$x {y} $(z)",
		"data": map[string]any{"tls.crt": "A\nB", "both": "K, A\nB"},
		"list": []any{"K", map[string]any{"a": "K"}, true},
	}
	got, err := s.fill(t.Context(), "case-1", fields)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if fields["list"].([]any)[0] != "${key-a1}" {
		t.Error("the journey itself is changed")
	}
	for text, want := range map[string]string{"${key-c3}": "no text key-c3", "${web status.revision}": "not an object"} {
		if _, err := s.fill(t.Context(), "case-1", map[string]any{"a": []any{text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %s", text, err, want)
		}
	}
}
