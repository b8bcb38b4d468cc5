package document

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func page(t *testing.T) *Document {
	t.Helper()
	source, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	return Parse("page.md", source)
}

func TestParse(t *testing.T) {
	d := page(t)
	anchors := []string{"a-page-code--more", "twice", "twice-1", "whats-new_in-12--ünïcode"}
	for i, h := range d.Headings {
		if h.Anchor != anchors[i] {
			t.Errorf("the anchor of %q is %q, want %q", h.Text, h.Anchor, anchors[i])
		}
	}
	want := []Link{
		{Line: 10, Target: "#twice", Text: "the first section"},
		{Line: 10, Target: "other.md#there", Text: "another page"},
		{Line: 16, Target: "image.svg", Text: "image", Image: true},
	}
	if diff := cmp.Diff(want, d.Links, cmpopts.IgnoreUnexported(Link{})); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	problems := []string{
		"page.md:24: write <b> as code, or in Markdown: HTML is not shown",
		"page.md:24: write </b> as code, or in Markdown: HTML is not shown",
	}
	if diff := cmp.Diff(problems, d.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestNoTitle(t *testing.T) {
	if got := Parse("page.md", []byte("text\n")).Problems; len(got) != 1 {
		t.Errorf("a page without a title has the problems %v", got)
	}
}

// TestHTML: the HTML has no script, no style and no HTML of the page.
func TestHTML(t *testing.T) {
	got, err := page(t).HTML(func(l Link) string { return "to:" + l.Target })
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/page.html"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got, rewrite with -update:\n%s", diff)
	}
}

func TestSections(t *testing.T) {
	var got []Section
	for _, s := range page(t).Sections() {
		got = append(got, Section{Heading: Heading{Text: s.Text}, Body: s.Body})
	}
	want := []Section{
		{Heading{Text: "A page: code & more"}, "kubectl get nginx # <all>", nil},
		{Heading{Text: "Twice"}, "See the first section, or another page.", nil},
		{Heading{Text: "Twice"}, "a b one two image no language", nil},
		{Heading{Text: "What's new_in 1.2 – ünïcode?"}, "Text with bold in HTML.", nil},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Heading{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
