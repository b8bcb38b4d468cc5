package problems

import (
	"fmt"
	"testing"
)

// TestSecrets: neither the values of this configuration nor those of earlier ones are shown, and messages stay readable.
func TestSecrets(t *testing.T) {
	var s *Secrets
	if s.Hide("text") != "text" {
		t.Error("without values, the text changes")
	}
	s = &Secrets{}
	s.Add(map[string]string{"${TOKEN}": "hunter2", "${SHORT}": "of"})
	s.Add(map[string]string{"${TOKEN}": "hunter2-new"})
	const text = `invalid value "hunter2" of "hunter2-new"`
	if got, want := s.Hide(text), `invalid value "${TOKEN}" of "${TOKEN}"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	reader := Reader{Own: func(string) bool { return true }, Secrets: s}
	const line = `2026/11/26 04:00:00 [emerg] 7#7: invalid value "hunter2" in /run/nginx-operator/site.conf:3`
	if got := reader.Redact(line); got != `2026/11/26 04:00:00 [emerg] 7#7: invalid value "${TOKEN}" in /run/nginx-operator/site.conf:3` {
		t.Error(got)
	}
	if got := reader.Problems(line); len(got) != 1 || got[0].Message != `invalid value "${TOKEN}"` {
		t.Errorf("%+v", got)
	}
	for i := range 2 * mostSecrets {
		s.Add(map[string]string{"${A}": fmt.Sprintf("value %d", i)})
	}
	if len(s.all) > mostSecrets {
		t.Errorf("it remembers %d values", len(s.all))
	}
}
