package sweep

import (
	"slices"
	"testing"
)

// TestPositions: together, the shares of a sweep have each position once.
func TestPositions(t *testing.T) {
	for setting, want := range map[string][]int64{
		"": {1, 2, 3, 4, 5, 6}, "1/1": {1, 2, 3, 4, 5, 6}, "1/3": {1, 4}, "2/3": {2, 5}, "3/3": {3, 6},
	} {
		t.Setenv(Setting, setting)
		var got []int64
		for k := range Positions() {
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

func TestBadSetting(t *testing.T) {
	for _, setting := range []string{"1", "0/3", "4/3", "1/0", "-1/3", "x/3"} {
		if _, _, err := parse(setting); err == nil {
			t.Errorf("%s=%s is accepted", Setting, setting)
		}
	}
}
