package apply

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestHolds(t *testing.T) {
	tests := map[string]struct {
		intent, live string
		want         bool
	}{
		"equal":                   {`a: {b: 1}`, `a: {b: 1}`, true},
		"others added a field":    {`a: {b: 1}`, `{a: {b: 1, c: 2}, d: 3}`, true},
		"changed":                 {`a: {b: 1}`, `a: {b: 2}`, false},
		"gone":                    {`a: {b: 1}`, `a: {}`, false},
		"all gone":                {`a: {b: 1}`, `{}`, false},
		"other type":              {`a: {b: 1}`, `a: text`, false},
		"zero may be missing":     {`{a: 0, b: false, c: "", d: {}, e: []}`, `{}`, true},
		"empty inside may, too":   {`a: {b: {c: false}}`, `{}`, true},
		"zero is not something":   {`a: 0`, `a: 1`, false},
		"type meta is the kind's": {`{apiVersion: v1, kind: Service, a: 1}`, `a: 1`, true},
		"list item added":         {`a: [{name: x, v: 1}]`, `a: [{name: injected}, {name: x, v: 1, w: 2}]`, true},
		"list item changed":       {`a: [{name: x, v: 1}]`, `a: [{name: x, v: 2}]`, false},
		"list item gone":          {`a: [{name: x}, {name: y}]`, `a: [{name: x}]`, false},
		"objects in other order":  {`a: [{name: x}, {name: y}]`, `a: [{name: y}, {name: x}]`, true},
		"values in other order":   {`a: [1, 2]`, `a: [2, 1]`, false},
		"value added":             {`command: [nginx]`, `command: [nginx, -t]`, false},
		"label added":             {`labels: {a: b}`, `labels: {a: b, c: d}`, true},
		"selector narrowed":       {`selector: {a: b}`, `selector: {a: b, c: d}`, false},
		"nodes narrowed":          {`nodeSelector: {a: b}`, `nodeSelector: {a: b, c: d}`, false},
		"number and text":         {`a: 1`, `a: "1"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := holds(fields(t, tt.intent), fields(t, tt.live)); got != tt.want {
				t.Errorf("holds = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHoldsComparesNumbersAcrossTypes(t *testing.T) {
	if !holds(map[string]any{"a": int64(1)}, map[string]any{"a": float64(1)}) {
		t.Error("1 is not 1")
	}
}

func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
