package campaign

import (
	"fmt"
	"hash/fnv"
)

// Part is one of several parts of all cases, of which each is in one: runs on other days, or machines,
// share them so. The zero Part has all.
type Part struct{ n, of uint32 }

// ParsePart reads a part as 3/10: the third of ten.
func ParsePart(text string) (p Part, err error) {
	if text == "" {
		return p, nil
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &p.n, &p.of, &rest); n != 2 || p.n < 1 || p.n > p.of {
		return p, fmt.Errorf("%q is no part: write it as 3/10, the third of ten", text)
	}
	return p, nil
}

// has tells by the name of a case, since others that there are now and then must not change it.
func (p Part) has(name string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // it cannot fail
	return p.of == 0 || hash.Sum32()%p.of == p.n-1
}
