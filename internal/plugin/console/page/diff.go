package page

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Line is a line of a file, or of the difference between two.
type Line struct {
	// Op is "+" for a line that is new, "-" for one that is gone, and empty for all others.
	Op   string `json:"op,omitempty"`
	Text string `json:"text"`
	// Number is the one in the new file; 0: the line is gone.
	Number int `json:"number,omitempty"`
}

// Diff returns the lines of a text, with those of an earlier text that are gone.
func Diff(before, after string) []Line {
	if before == after {
		return (&lines{}).keep(split(after)).all
	}
	// The number of unchanged lines around a change has no bound: whole files are shown.
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), len(before)+len(after))
	if err != nil {
		// The edits come from Lines, and therefore fit.
		return (&lines{}).keep(split(after)).all
	}
	l := &lines{}
	for _, hunk := range unified.Hunks {
		for _, line := range hunk.Lines {
			l.add(line.Kind, strings.TrimSuffix(line.Content, "\n"))
		}
	}
	return l.all
}

// split returns the lines of a text.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// lines numbers lines.
type lines struct {
	all    []Line
	number int
}

func (l *lines) add(kind udiff.OpKind, text string) {
	line := Line{Text: text}
	switch kind {
	case udiff.Delete:
		line.Op = "-"
	case udiff.Insert:
		line.Op = "+"
		fallthrough
	case udiff.Equal:
		l.number++
		line.Number = l.number
	}
	l.all = append(l.all, line)
}

func (l *lines) keep(all []string) *lines {
	l.all = make([]Line, 0, len(all))
	for _, text := range all {
		l.add(udiff.Equal, text)
	}
	return l
}

// contextLines is the number of lines around a change in Hunks.
const contextLines = 2

// Hunks returns the lines of the difference between two texts, with some lines around each change. A line with the Op
// "…" stands for lines that are left out.
func Hunks(before, after string) []Line {
	all, shown := Diff(before, after), []Line{}
	last := -1
	for i := range all {
		if !nearChange(all, i) {
			continue
		}
		if i > last+1 {
			shown = append(shown, Line{Op: "…"})
		}
		shown, last = append(shown, all[i]), i
	}
	return shown
}

// nearChange reports whether a line is a change, or close to one.
func nearChange(all []Line, i int) bool {
	for _, l := range all[max(0, i-contextLines):min(len(all), i+contextLines+1)] {
		if l.Op != "" {
			return true
		}
	}
	return false
}
