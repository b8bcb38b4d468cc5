package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// numbers do not fit into what programs store numbers in: 32 bits, 64 bits, integers or, as texts,
// quantities of Kubernetes.
var numbers = []string{
	"2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "1e30", "0.5",
	`"1e2147483648"`, `"1E-99999999999"`, `"-1e-2147483649"`, `"` + strings.Repeat("9", 400) + `"`, `"0.` + strings.Repeat("1", 400) + `Ei"`,
}

// Numbers puts these numbers into every numeric field. It only asks the API server whether it would
// accept the objects: a stored object that the operator cannot read would keep it from reading all
// others.
func Numbers() ([]Case, error) {
	fields, err := Specs()
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, b := range based {
		specs, err := Bases(b.file)
		if err != nil {
			return nil, err
		}
		for _, path := range fields[b.kind].Numbers("spec") {
			for _, number := range numbers {
				injected := inject(fields[b.kind], specs, path, json.RawMessage(number))
				if injected == nil {
					return nil, fmt.Errorf("%s of %s %s holds a number, and no spec of testdata says it: add it there", path, b.kind.Name, b.kind.Version)
				}
				name := fmt.Sprintf("n%04d", len(all))
				all = append(all, Case{
					Name: fmt.Sprintf("numbers: %s %s %s: %.30s", b.kind.Name, b.kind.Version, path, number), Sort: "numbers",
					Kind: b.kind, Object: name, Body: body(b.kind, name, injected), Want: Want{Either: true}, DryRun: true,
				})
			}
		}
	}
	return all, nil
}
