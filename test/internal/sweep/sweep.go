// Package sweep selects the positions of a sweep: a test that disturbs the operator at its k-th write, for every k.
package sweep

import (
	"fmt"
	"iter"
	"os"
)

// Setting is the environment variable that selects a share of all positions: with 2/3, every third one from the second.
// Without it, sweeps try all.
const Setting = "SWEEP"

// Positions returns the positions to try, from 1 on without end. It panics if the setting is malformed.
func Positions() iter.Seq[int64] {
	first, step, err := parse(os.Getenv(Setting))
	if err != nil {
		panic(err)
	}
	return func(yield func(int64) bool) {
		for k := first; yield(k); k += step {
		}
	}
}

func parse(text string) (first, step int64, err error) {
	if text == "" {
		return 1, 1, nil
	}
	if _, err := fmt.Sscanf(text, "%d/%d", &first, &step); err != nil || first < 1 || first > step {
		return 0, 0, fmt.Errorf("%s=%s: want a share, for example 2/3", Setting, text)
	}
	return first, step, nil
}
