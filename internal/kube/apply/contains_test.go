package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/kube/owned"
)

var testSchema = owned.NewSchema(owned.Atomic("selector"), owned.Atomic("nodeSelector"), owned.Atomic("seccompProfile"),
	owned.Keyed([]string{"claims"}, "metadata", "name"))

func TestContains(t *testing.T) {
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
		"zero is not nothing":     {`a: false`, `{}`, false},
		"empty is not nothing":    {`a: {}`, `{}`, false},
		"null is":                 {`a: null`, `{}`, true},
		"empty may be filled":     {`a: {}`, `a: {b: 1}`, true},
		"zero is not something":   {`a: 0`, `a: 1`, false},
		"type meta is the kind's": {`{apiVersion: v1, kind: Service, a: 1}`, `a: 1`, true},
		"list item added":         {`a: [{name: x, v: 1}]`, `a: [{name: injected}, {name: x, v: 1, w: 2}]`, true},
		"list item changed":       {`a: [{name: x, v: 1}]`, `a: [{name: x, v: 2}]`, false},
		"list item gone":          {`a: [{name: x}, {name: z}]`, `a: [{name: x}]`, false},
		"objects in other order":  {`a: [{name: x}, {name: z}]`, `a: [{name: z}, {name: x}]`, true},
		"values in other order":   {`a: [1, 2]`, `a: [2, 1]`, false},
		"value added":             {`command: [nginx]`, `command: [nginx, -t]`, false},
		"label added":             {`labels: {a: b}`, `labels: {a: b, c: d}`, true},
		"selector narrowed":       {`selector: {a: b}`, `selector: {a: b, c: d}`, false},
		"nodes narrowed":          {`nodeSelector: {a: b}`, `nodeSelector: {a: b, c: d}`, false},
		"profile of two types":    {`seccompProfile: {type: RuntimeDefault}`, `seccompProfile: {type: RuntimeDefault, localhostProfile: a}`, false},
		"nodes without a value":   {`nodeSelector: {a: b}`, `nodeSelector: {a: b, c: ""}`, false},
		"another type of object":  {`a: {kind: X, b: 1}`, `a: {kind: Y, b: 1}`, false},
		"number and text":         {`a: 1`, `a: "1"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := contains(testSchema, fields(t, tt.intent), fields(t, tt.live)); got != tt.want {
				t.Errorf("contains = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	tests := map[string]struct {
		intent, live string
		want         []string
	}{
		"nothing":           {`a: {b: 1}`, `a: {b: 1, c: 2}`, nil},
		"a field":           {`{a: {b: 1, c: 2}, d: 3}`, `{a: {c: 2}, d: 4}`, []string{"a.b", "d"}},
		"an object":         {`a: {b: {c: 1}}`, `a: {}`, []string{"a.b"}},
		"in a named item":   {`a: [{name: x, v: {w: 1}}, {name: z}]`, `a: [{name: z}, {name: x, v: {}}]`, []string{"a[x].v.w"}},
		"a named item":      {`a: [{name: x}, {name: z}]`, `a: [{name: x}]`, []string{"a[z]"}},
		"an item, no name":  {`a: [{key: x}]`, `a: [{key: y}]`, []string{"a"}},
		"a list":            {`a: [{name: x}]`, `{}`, []string{"a"}},
		"values":            {`a: [1, 2]`, `a: [1]`, []string{"a"}},
		"in a keyed item":   {`claims: [{metadata: {name: x}, v: 1}]`, `claims: [{metadata: {name: x}, v: 2}]`, []string{"claims[x].v"}},
		"a keyed item":      {`claims: [{metadata: {name: x}}]`, `claims: [{metadata: {name: y}}]`, []string{"claims[x]"}},
		"of two of a name":  {`a: [{name: x, v: 1}, {name: x, v: 2}]`, `a: [{name: x, v: 1}, {name: x, v: 3}]`, []string{"a[x]"}},
		"an atomic map":     {`selector: {a: b}`, `selector: {a: b, c: d}`, []string{"selector"}},
		"a map became text": {`a: {b: 1}`, `a: text`, []string{"a"}},
		"an empty object":   {`a: {b: {}}`, `a: {}`, []string{"a.b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			intent, live := fields(t, tt.intent), fields(t, tt.live)
			got := missing(testSchema, "", intent, live)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if contains(testSchema, intent, live) != (len(got) == 0) {
				t.Error("contains says otherwise")
			}
		})
	}
}

func TestContainsComparesNumbersAcrossTypes(t *testing.T) {
	if !contains(nil, map[string]any{"a": int64(1)}, map[string]any{"a": float64(1)}) {
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
