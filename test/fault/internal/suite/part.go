package suite

import (
	"fmt"
	"hash/fnv"
)

// Part is one of several parts of all cases. Each case is in exactly one, so that runs on different
// days or machines can share the cases. The zero Part has all cases.
type Part struct{ n, of uint32 }

// ParsePart parses a part such as 3/10, the third of ten.
func ParsePart(text string) (p Part, err error) {
	if text == "" {
		return p, nil
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &p.n, &p.of, &rest); n != 2 || p.n < 1 || p.n > p.of {
		return p, fmt.Errorf("%q is not a part: write the third of ten as 3/10", text)
	}
	return p, nil
}

// has reports whether a case is in the part. It decides by name, so that adding or removing other
// cases does not change the result.
func (p Part) has(name string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // a hash never fails
	return p.of == 0 || hash.Sum32()%p.of == p.n-1
}
