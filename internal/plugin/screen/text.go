// Package screen renders what the commands of kubectl nginx show. It is pure.
package screen

import (
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Safe returns a text of the cluster on one line, without characters that a terminal would obey.
func Safe(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
}

// age returns how long ago something was, such as 3m; empty: never.
func age(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(then))
}

// table aligns the columns of rows.
type table struct{ writer *tabwriter.Writer }

func newTable(w io.Writer, header ...string) *table {
	t := &table{writer: tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

// row adds a row. An empty cell is "-", so that each line has as many words as the header.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		if cells[i] = Safe(cell); cells[i] == "" {
			cells[i] = "-"
		}
	}
	// The writer keeps the error for Flush.
	_, _ = io.WriteString(t.writer, strings.Join(cells, "\t")+"\n")
}

func (t *table) flush() error { return t.writer.Flush() }
