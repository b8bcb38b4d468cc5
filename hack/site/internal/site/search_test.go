package site

import (
	"encoding/json"
	"testing"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"
)

// result is what the search returns.
type result struct {
	Section indexed
	Excerpt []struct {
		Text  string
		Match bool
	}
}

// searched runs the script of the site.
func searched(t *testing.T, index []indexed, query string) []result {
	t.Helper()
	script, err := assets.ReadFile("assets/search.js")
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	if _, err := vm.RunString(string(script)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"index": string(text), "query": query} {
		if err := vm.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	value, err := vm.RunString("JSON.stringify(search(JSON.parse(index), query, 20))")
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal([]byte(value.String()), &results); err != nil {
		t.Fatal(err)
	}
	return results
}

func TestSearch(t *testing.T) {
	index := []indexed{
		{Page: "Backups", Heading: "Policies", Address: "b", Text: "A gate waits for a backup."},
		{Page: "Rollouts", Heading: "Gates", Address: "g", Text: "A rollout waits. " + "Long text. Long text. Long text. Long text. Long text. Then a GATE opens."},
		{Page: "Rollouts", Heading: "Delegates", Address: "d", Text: ""},
		{Page: "Security", Heading: "Scripts", Address: "s", Text: "<script>alert(1)</script>"},
	}
	for name, tt := range map[string]struct {
		query string
		want  []string
	}{
		"a heading first, the inside of a word last": {"gate", []string{"g", "d", "b"}},
		"all words":       {"gate backup", []string{"b"}},
		"the page counts": {"rollouts opens", []string{"g"}},
		"upper case":      {"GATES", []string{"g", "d"}},
		"nothing":         {"gate none", nil},
		"empty":           {"  ", nil},
		"punctuation":     {"<script>", []string{"s"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range searched(t, index, tt.query) {
				got = append(got, r.Section.Address)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestExcerpt: the excerpt marks the words, and shows the text around them unchanged.
func TestExcerpt(t *testing.T) {
	got := searched(t, []indexed{{Heading: "h", Text: "First words. Open the Gate, then the gate closes."}}, "gate")[0].Excerpt
	var text string
	for _, part := range got {
		if part.Match {
			part.Text = "[" + part.Text + "]"
		}
		text += part.Text
	}
	if want := "First words. Open the [Gate], then the [gate] closes."; text != want {
		t.Errorf("the excerpt is %q, want %q", text, want)
	}
}
