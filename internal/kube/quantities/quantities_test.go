package quantities

import (
	"strings"
	"testing"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
)

var schema = NewSchema(crd.NginxOperators, v1alpha2.GroupVersion.Version)

// TestCheck: quantities that take unbounded time to parse are found, and nothing else is rejected.
func TestCheck(t *testing.T) {
	const endless = "1e-99999999999"
	tests := map[string]struct{ spec, words string }{
		"nothing":              {spec: `{}`},
		"usual ones":           {spec: `{"resources":{"limits":{"cpu":"1.5","memory":"2Gi"},"requests":{"cpu":2,"memory":"1e3","example.com/gpu":"1"}}}`},
		"a limit":              {spec: `{"resources":{"limits":{"cpu":"` + endless + `"}}}`, words: "spec.resources.limits.cpu"},
		"a number":             {spec: `{"resources":{"limits":{"cpu":` + endless + `}}}`, words: "spec.resources.limits.cpu"},
		"a long number":        {spec: `{"resources":{"limits":{"cpu":0.` + strings.Repeat("9", 5000) + `}}}`, words: "spec.resources.limits.cpu"},
		"in another case":      {spec: `{"Resources":{"LIMITS":{"cpu":"` + endless + `"}}}`, words: "spec.Resources.LIMITS.cpu"},
		"twice":                {spec: `{"resources":{"limits":{"cpu":"` + endless + `"}},"resources":{}}`, words: "spec.resources.limits.cpu"},
		"digits without end":   {spec: `{"resources":{"requests":{"cpu":"` + strings.Repeat("9", 5000) + `"}}}`, words: "spec.resources.requests.cpu"},
		"of a sidecar":         {spec: `{"podTemplate":{"containers":[{},{"resources":{"limits":{"cpu":"` + endless + `"}}}]}}`, words: "spec.podTemplate.containers[1].resources.limits.cpu"},
		"of a volume":          {spec: `{"podTemplate":{"volumes":[{"emptyDir":{"sizeLimit":"` + endless + `"}}]}}`, words: "spec.podTemplate.volumes[0].emptyDir.sizeLimit"},
		"of a variable":        {spec: `{"podTemplate":{"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"` + endless + `"}}}]}}`, words: "divisor"},
		"of a canary":          {spec: `{"rollout":{"canary":{"maxLatencyRatio":"` + endless + `"}}}`, words: "spec.rollout.canary.maxLatencyRatio"},
		"a variable's value":   {spec: `{"podTemplate":{"env":[{"name":"A","value":"` + endless + `"}]}}`},
		"a port, by its name":  {spec: `{"podTemplate":{"containers":[{"livenessProbe":{"tcpSocket":{"port":"http"}}}]}}`},
		"another type":         {spec: `{"resources":["1"],"rollout":7}`},
		"no JSON":              {spec: `{`, words: "JSON"},
		"more than it can say": {spec: `{"resources":{"limits":{"cpu":"1e100"}}}`, words: "spec.resources.limits.cpu"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := schema.CheckSpec([]byte(tt.spec))
			if (err != nil) != (tt.words != "") || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %q", err, tt.words)
			}
		})
	}
}

// TestCheckObject: everything that a decoder takes for the spec is checked.
func TestCheckObject(t *testing.T) {
	const endless = `{"resources":{"limits":{"cpu":"1e-99999999999"}}}`
	for object, bad := range map[string]bool{
		`{"spec":{"resources":{"limits":{"cpu":1e-99999999999}}}}`: true,
		`{"kind":"NginxOperator"}`:                                 false, `{"spec":{}}`: false, `{"metadata":` + endless + `}`: false,
		`{"spec":` + endless + `}`: true, `{"spec":` + endless + `,"spec":{}}`: true, `{"spec":` + endless + `,"Spec":{}}`: true,
	} {
		if err := schema.CheckObject([]byte(object)); (err != nil) != bad {
			t.Errorf("%s: got %v", object, err)
		}
	}
}

// TestCheckTakesLittleMemory: the names of the levels above a value are not copied for each level.
func TestCheckTakesLittleMemory(t *testing.T) {
	const levels, name = 9000, 100_000
	text := []byte(`{"` + strings.Repeat("x", name) + `":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`)
	if err := schema.CheckSpec(text); err != nil {
		t.Fatal(err)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err := schema.CheckSpec(text); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 100*name {
		t.Errorf("%d bytes are allocated", allocated)
	}
}
