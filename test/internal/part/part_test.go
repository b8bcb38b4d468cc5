package part

import (
	"fmt"
	"slices"
	"testing"
)

// TestParts: each case is in exactly one part, and the parts have about the same size.
func TestParts(t *testing.T) {
	sizes := map[int]int{}
	for walk := range 10000 {
		name, in := fmt.Sprintf("random/walk/%d", walk), 0
		for n := range 7 {
			p, err := Parse(fmt.Sprintf("%d/7", n+1))
			if err != nil {
				t.Fatal(err)
			}
			if p.Has(name) {
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

func TestParse(t *testing.T) {
	if all, err := Parse(""); err != nil || !all.Has("crash/scale/cut@1") {
		t.Error("no part is not all", err)
	}
	for _, text := range []string{"0/3", "4/3", "1", "1/", "a/b", "1/3x", "-1/3"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is a part", text)
		}
	}
}

// TestPositions: together, the parts of a sweep have each position once.
func TestPositions(t *testing.T) {
	for setting, want := range map[string][]int64{
		"": {1, 2, 3, 4, 5, 6}, "1/1": {1, 2, 3, 4, 5, 6}, "1/3": {1, 4}, "2/3": {2, 5}, "3/3": {3, 6},
	} {
		t.Setenv(Setting, setting)
		var got []int64
		for k := range Selected().Positions() {
			if k > 6 {
				break
			}
			got = append(got, k)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s=%s has the positions %v, want %v", Setting, setting, got, want)
		}
	}
}
