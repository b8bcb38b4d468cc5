package campaign

import (
	"strings"
	"testing"

	"example.com/nginx-operator/test/fault/internal/proxy"
)

// TestPairs: every write is the first of a pair, the same ones each time, and each can be played by its name.
func TestPairs(t *testing.T) {
	golden := &Golden{Writes: make([]proxy.Request, 20)}
	all, again := PairCases("scale", golden), PairCases("scale", golden)
	if len(all) != len(golden.Writes) {
		t.Errorf("%d pairs of %d writes", len(all), len(golden.Writes))
	}
	for i, c := range all {
		if c.Kind != "pair" || strings.Count(c.Point, "@") != 2 || c.String() != again[i].String() {
			t.Errorf("a pair is %s, and %s the next time", c, again[i])
		}
		if parsed, err := Parse(c.String()); err != nil || parsed.String() != c.String() {
			t.Errorf("%s is read as %s: %v", c, parsed, err)
		}
	}
}
