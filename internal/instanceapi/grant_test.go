package instanceapi

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	words, others := NewWords(), NewWords()
	word := words.For("pod-1", "r1")
	for name, other := range map[string]string{
		"another pod":      words.For("pod-2", "r1"),
		"another revision": words.For("pod-1", "r2"),
		"another process":  others.For("pod-1", "r1"),
		"nothing":          "",
		"the grant itself": Grant(word),
	} {
		if Opens(other, Grant(word)) {
			t.Errorf("the word of %s opens the grant", name)
		}
	}
	if again := words.For("pod-1", "r1"); !Opens(again, Grant(word)) || len(word) > MaxWord {
		t.Errorf("the word %q does not open its grant", again)
	}
	if Opens("", "") {
		t.Error("without a grant, nothing may open")
	}
}

// TestPublic: what everybody may read tells requests apart, and does not show the grant.
func TestPublic(t *testing.T) {
	words := NewWords()
	grant := Grant(words.For("pod", "r1"))
	private := Requested{Test: "r1", Load: "r0", Grant: grant}
	public := private.Public()
	if public.Grant != "" || len(public.GrantFingerprint) != 2*fingerprintBytes || strings.Contains(grant, public.GrantFingerprint) {
		t.Errorf("the public form is %+v of grant %s", public, grant)
	}
	other := Grant(words.For("pod", "r2"))
	for what, tt := range map[string]struct {
		a, b Requested
		want bool
	}{
		"itself":                   {private, private, true},
		"its public form":          {private, public, true},
		"the other way round":      {public, private, true},
		"twice public":             {public, public.Public(), true},
		"another grant":            {public, Requested{Test: "r1", Load: "r0", Grant: other}, false},
		"another grant, as before": {private, Requested{Test: "r1", Load: "r0", Grant: other}, false},
		"no grant":                 {public, Requested{Test: "r1", Load: "r0"}, false},
		"another test":             {public, Requested{Test: "r2", Load: "r0", Grant: grant}, false},
		"another load":             {public, Requested{Test: "r1", Load: "r1", Grant: grant}, false},
		"nothing":                  {Requested{}, Requested{}, true},
	} {
		if got := tt.a.Matches(tt.b); got != tt.want {
			t.Errorf("%s: %t, want %t", what, got, tt.want)
		}
	}
}
