package journey

import (
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAll: the embedded journeys are valid.
func TestAll(t *testing.T) {
	all, err := All()
	if err != nil || len(all) < 15 {
		t.Fatalf("%d journeys: %v", len(all), err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"about: x": "when and then",
		"about: x\nwhen: [{}]\nthen: [Pod/b is gone]":                               "one of create",
		"about: x\nwhen: [{patch: Pod/b}]\nthen: [Pod/b is gone]":                   "need each other",
		"about: x\nwhen: [{delete: Pod/b, create: {a: b}}]\nthen: [Pod/b is gone]":  "one of create",
		"about: x\nwhen: [{delete: web}]\nthen: [Pod/b is gone]":                    "Kind/name",
		"about: x\nwhen: [{delete: Pod/b}]\nthen: [Pod/b is fine]":                  "not an expectation",
		"about: x\nwhen: [{delete: Pod/b}]\nthen: [Pod/b is Ready=Perhaps]":         "not an expectation",
		"about: x\nwhen: [{delete: Pod/b}]\nthen: [Pod/b is gone]\nsomething: else": "something",

		"about: x\nwhen: [{delete: Pod/b, propagation: None}]\nthen: [Pod/b is gone]":                   "propagation must be",
		"about: x\nwhen: [{operator: next, propagation: Orphan}]\nthen: [Pod/b is gone]":                "propagation is allowed only",
		"about: x\nwhen: [{patch: Pod/b, with: {a: 1}, wait: false}]\nthen: [Pod/b is gone]":            "wait is allowed only",
		"about: x\nwhen: [{delete: Pod/b, subresource: scale}]\nthen: [Pod/b is gone]":                  "subresource is allowed only",
		"about: x\nwhen: [{operator: last}]\nthen: [Pod/b is gone]":                                     "operator must be one",
		"about: x\nwhen: [{operator: next, patch: Pod/b, with: {a: b}}]\nthen: [Pod/b is gone]":         "one of create",
		"about: x\ngiven: [{patch: Pod/b, subresource: scale}]\nwhen: [{delete: Pod/b}]\nthen: [Pod/b]": "not an expectation",
	} {
		_, err := Read(fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %s", text, err, want)
		}
	}
	if _, err := Read(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is no error")
	}
}

func TestUpgrades(t *testing.T) {
	for steps, want := range map[string]bool{
		"{operator: next}":                     true,
		"{operator: this}":                     true,
		"{delete: Pod/b, propagation: Orphan}": false,
		"{patch: Pod/b, subresource: scale, with: {spec: {replicas: 3}}}":     false,
		"{patch: Pod/b, with: {a: 1}}, {operator: next}, {delete: Service/b}": true,
	} {
		all, err := Read(fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte("about: x\nwhen: [" + steps + "]\nthen: [Pod/b is gone]")}})
		if err != nil {
			t.Errorf("%s: %v", steps, err)
			continue
		}
		if got := all[0].Upgrades(); got != want {
			t.Errorf("%s: it upgrades: %t", steps, got)
		}
	}
}

// web returns an object at generation 2 with a current and an outdated condition.
func web(status, reason string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"spec":     map[string]any{"image": "nginx:2"},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": status, "reason": reason, "observedGeneration": int64(2)},
			map[string]any{"type": "Old", "status": "True", "reason": reason, "observedGeneration": int64(1)},
		}},
	}}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		expectation string
		object      *unstructured.Unstructured
		ok          bool
	}{
		{"NginxOperator/web is Ready", web("True", "Ready"), true},
		{"NginxOperator.v1alpha1/web is Ready", web("True", "Ready"), true},
		{"NginxOperator/web is Ready", web("False", "Ready"), false},
		{"NginxOperator/web is Ready", nil, false},
		{"NginxOperator/web is Ready=False", web("False", "Why"), true},
		{"NginxOperator/web is Ready=False (Why)", web("False", "Why"), true},
		{"NginxOperator/web is Ready=False (Why)", web("False", "Else"), false},
		{"NginxOperator/web is Old", web("True", "Ready"), false},
		{"NginxOperator/web is Unheard", web("True", "Ready"), false},
		{"NginxOperator/web is there", web("True", "Ready"), true},
		{"NginxOperator/web is there", nil, false},
		{"NginxOperator/web is gone", nil, true},
		{"NginxOperator/web is gone", web("True", "Ready"), false},
		{"NginxOperator/web has nginx:2", web("True", "Ready"), true},
		{"NginxOperator/web has nginx:3", web("True", "Ready"), false},
		{"NginxOperator/web has nginx:2", nil, false},
	}
	for _, tt := range tests {
		e := &Expectation{}
		if err := e.UnmarshalText([]byte(tt.expectation)); err != nil {
			t.Errorf("%s: %v", tt.expectation, err)
			continue
		}
		if err := e.Check(tt.object); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.expectation, err)
		}
	}
}
