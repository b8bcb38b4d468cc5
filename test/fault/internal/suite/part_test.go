package suite

import (
	"fmt"
	"testing"
)

// TestParts: each case is in exactly one part, and the parts have about the same size.
func TestParts(t *testing.T) {
	sizes := map[int]int{}
	for walk := range 10000 {
		name, in := fmt.Sprintf("random/walk/%d", walk), 0
		for n := range 7 {
			part, err := ParsePart(fmt.Sprintf("%d/7", n+1))
			if err != nil {
				t.Fatal(err)
			}
			if part.has(name) {
				in++
				sizes[n]++
			}
		}
		if in != 1 {
			t.Fatalf("%s is in %d parts", name, in)
		}
	}
	for n, size := range sizes {
		if size < 1200 || size > 1700 {
			t.Errorf("part %d has %d cases of 10000", n+1, size)
		}
	}
}

func TestParsePart(t *testing.T) {
	if all, err := ParsePart(""); err != nil || !all.has("crash/scale/cut@1") {
		t.Error("no part is not all", err)
	}
	for _, text := range []string{"0/3", "4/3", "1", "1/", "a/b", "1/3x", "-1/3"} {
		if _, err := ParsePart(text); err == nil {
			t.Errorf("%q is a part", text)
		}
	}
}
