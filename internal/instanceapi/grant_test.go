package instanceapi

import "testing"

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
