package importer

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// file is a file of the configuration, and what changes in it.
type file struct {
	path, text string
	// name is that in the application, whose files are flat.
	name string
	// plain files have no directives.
	plain      bool
	directives []*syntax.Directive
	changes    map[syntax.Span]string
}

// replace replaces a range. A directive of a file that is included twice is replaced once.
func (f *file) replace(span syntax.Span, text string) {
	if f.changes == nil {
		f.changes = map[syntax.Span]string{}
	}
	f.changes[span] = text
}

// result returns the text with its changes. A replacement keeps the line breaks of what it replaces, so that no line moves.
func (f *file) result() string {
	var b strings.Builder
	at := 0
	byPlace := func(a, b syntax.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) }
	for _, span := range slices.SortedFunc(maps.Keys(f.changes), byPlace) {
		if span.Start < at {
			continue // within a directive that is replaced as a whole
		}
		b.WriteString(f.text[at:span.Start])
		b.WriteString(f.changes[span])
		lines := strings.Count(f.text[span.Start:span.End], "\n") - strings.Count(f.changes[span], "\n")
		b.WriteString(strings.Repeat("\n", max(lines, 0)))
		at = span.End
	}
	b.WriteString(f.text[at:])
	return b.String()
}

// words returns the ranges of the words of a directive.
func (f *file) words(d *syntax.Directive) []syntax.Span {
	for s := range syntax.Statements(f.text[d.Start:d.End]) {
		for i := range s.Words {
			s.Words[i].Start += d.Start
			s.Words[i].End += d.Start
		}
		return s.Words
	}
	return nil
}

var illegal = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// flatName returns a name for a path, like a key of a ConfigMap.
func flatName(path string) string {
	name := illegal.ReplaceAllString(strings.TrimPrefix(shown(path), "/"), "-")
	for strings.HasPrefix(name, "..") {
		name = name[1:]
	}
	if strings.HasPrefix(name, "nginx-operator") || name == "." || name == "" {
		name = "site-" + name
	}
	return name
}

var plainWord = regexp.MustCompile(`^[^\s;{}"'\\#$][^\s;{}"'\\]*$`)

// quoted returns a word as it is written in a configuration.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(word) + `"`
}
