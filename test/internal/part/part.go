// Package part divides the cases of long suites, so that runs on different days or machines can share them.
package part

import (
	"fmt"
	"hash/fnv"
	"iter"
	"os"
)

// Setting is the environment variable of test suites that selects a part of the cases. Without it, all run.
const Setting = "PART"

// Part is one of several parts of all cases. Each case is in exactly one. The zero Part has all cases.
type Part struct{ n, of uint32 }

// Parse parses a part such as 3/10, the third of ten.
func Parse(text string) (p Part, err error) {
	if text == "" {
		return p, nil
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &p.n, &p.of, &rest); n != 2 || p.n < 1 || p.n > p.of {
		return p, fmt.Errorf("%q is not a part: write the third of ten as 3/10", text)
	}
	return p, nil
}

// Selected returns the part that the environment selects. It panics if that is malformed.
func Selected() Part {
	p, err := Parse(os.Getenv(Setting))
	if err != nil {
		panic(fmt.Errorf("%s: %w", Setting, err))
	}
	return p
}

// Has reports whether a case is in the part. It decides by name, so that adding or removing other
// cases does not change the result.
func (p Part) Has(name string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // a hash never fails
	return p.of == 0 || hash.Sum32()%p.of == p.n-1
}

// Positions returns the positions of the part, for tests that disturb the operator at its k-th write, for every k: from 1
// on, without end.
func (p Part) Positions() iter.Seq[int64] {
	first, step := int64(max(1, p.n)), int64(max(1, p.of))
	return func(yield func(int64) bool) {
		for k := first; yield(k); k += step {
		}
	}
}
