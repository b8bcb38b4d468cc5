package suite

import (
	"strings"
	"testing"

	"example.com/nginx-operator/test/fault/internal/proxy"
)

// TestPairs: every write starts one pair, the same one each time, and the name of a pair replays
// it.
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

// TestEvents: the name of a case with an event allows only the deliveries of its kind.
func TestEvents(t *testing.T) {
	for _, name := range []string{"unobserved/scale/late@3:pods", "stale/scale/view@3:pods?a"} {
		if parsed, err := Parse(name); err != nil || parsed.String() != name {
			t.Errorf("%s is read as %s: %v", name, parsed, err)
		}
	}
	for _, name := range []string{"unobserved/scale/view@3:pods", "unobserved/scale/lost@3:pods", "unobserved/scale/late:pods", "stale/scale/late@3:pods"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%s is a case", name)
		}
	}
}

// TestReads: every read gets every fault, and the name of a case replays it.
func TestReads(t *testing.T) {
	golden := &Golden{Reads: make([]proxy.Request, 3)}
	all := ReadCases("scale", golden)
	if len(all) != len(golden.Reads)*len(proxy.FaultsOfReads()) {
		t.Errorf("%d cases of %d reads", len(all), len(golden.Reads))
	}
	for _, c := range all {
		if parsed, err := Parse(c.String()); err != nil || parsed.String() != c.String() {
			t.Errorf("%s is read as %s: %v", c, parsed, err)
		}
	}
	for _, name := range []string{"read/scale/drop@1", "read/scale/500", "read/scale/500@a"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%s is a case", name)
		}
	}
}
