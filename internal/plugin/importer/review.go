package importer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Outcome is what became of a part of the input.
type Outcome int

// The outcomes, the best first.
const (
	Carried Outcome = iota
	Changed
	NotCarried
)

// String returns the word for the outcome in a review.
func (o Outcome) String() string {
	return [...]string{"carried over", "changed", "not carried over"}[o]
}

// Item is a part of the input: a directive, an annotation or a field.
type Item struct {
	// Source is the file or the object that has it, and Line is its line in a file.
	Source string
	Line   int
	// Subject is the item as it is written, and Kind is what it is.
	Subject string
	Kind    Kind
	Outcome Outcome
	// Note says how it is changed, or why it is not carried over and what to do instead.
	Note string
}

// Kind is a kind of items.
type Kind string

// The kinds of items.
const (
	KindDirective  Kind = "directives"
	KindAnnotation Kind = "annotations"
	KindField      Kind = "fields"
	KindFile       Kind = "files"
)

// Review is what became of the input.
type Review struct {
	Items []Item
	// Steps are what the user has to do before the application can serve.
	Steps []string
}

func (r *Review) add(i Item) { r.Items = append(r.Items, i) }

// step adds a step once.
func (r *Review) step(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.Steps, s) {
		r.Steps = append(r.Steps, s)
	}
}

// Count returns how many items of a kind have an outcome.
func (r *Review) Count(kind Kind, outcome Outcome) int {
	n := 0
	for _, i := range r.Items {
		if i.Kind == kind && i.Outcome == outcome {
			n++
		}
	}
	return n
}

// Write writes the review for a person: what is changed, not carried over or has a note, and with all the rest, too. safe
// removes what a terminal would obey.
func (r *Review) Write(w io.Writer, all bool, safe func(string) string) error {
	p := &printer{w: w, safe: safe}
	p.line("%s", r.summary())
	for _, outcome := range []Outcome{NotCarried, Changed, Carried} {
		p.section(r.Items, outcome, all)
	}
	if len(r.Steps) > 0 {
		p.line("\nBefore you apply the manifests:")
	}
	for i, step := range r.Steps {
		p.line("%3d. %s", i+1, step)
	}
	return p.err
}

// Summary writes the number of items by kind and outcome.
func (r *Review) Summary(w io.Writer) error {
	p := &printer{w: w, safe: func(s string) string { return s }}
	p.line("%-12s %8s %13s %8s %17s", "", "total", Carried, Changed, NotCarried)
	for _, kind := range []Kind{KindDirective, KindAnnotation, KindField, KindFile} {
		c, changed, not := r.Count(kind, Carried), r.Count(kind, Changed), r.Count(kind, NotCarried)
		p.line("%-12s %8d %13d %8d %17d", kind, c+changed+not, c, changed, not)
	}
	return p.err
}

func (r *Review) summary() string {
	var counts []string
	for _, kind := range []Kind{KindDirective, KindAnnotation, KindField, KindFile} {
		c, changed, not := r.Count(kind, Carried), r.Count(kind, Changed), r.Count(kind, NotCarried)
		if total := c + changed + not; total > 0 {
			counts = append(counts, fmt.Sprintf("%s: %d (%d carried over, %d changed, %d not carried over)", kind, total, c, changed, not))
		}
	}
	return strings.Join(counts, "; ")
}

// printer keeps the first error.
type printer struct {
	w    io.Writer
	safe func(string) string
	err  error
}

func (p *printer) line(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = p.safe(text)
		}
	}
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) section(items []Item, outcome Outcome, all bool) {
	shown := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Outcome != outcome || i.Note == "" && !all })
	if len(shown) == 0 {
		return
	}
	slices.SortStableFunc(shown, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line)) })
	title := map[Outcome]string{NotCarried: "Not carried over:", Changed: "Changed:", Carried: "Carried over, with a note:"}[outcome]
	if outcome == Carried && all {
		title = "Carried over:"
	}
	p.line("\n" + title)
	for _, i := range shown {
		p.line("  %s", i.String())
	}
}

// String returns the item on one line.
func (i Item) String() string {
	text := i.Source
	if i.Line > 0 {
		text += fmt.Sprintf(":%d", i.Line)
	}
	text += ": " + i.Subject
	if i.Note != "" {
		text += ": " + i.Note
	}
	return text
}
