// Package screen renders what the commands of kubectl nginx show. It is pure.
package screen

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Printer renders for a terminal or a file.
type Printer struct {
	Out io.Writer
	Now time.Time
	// Colours is true on terminals.
	Colours bool
	// Wide adds columns.
	Wide bool
}

// printf prints a line. What the cluster says must be Safe.
func (p Printer) printf(format string, arguments ...any) error {
	_, err := fmt.Fprintf(p.Out, format+"\n", arguments...)
	return err
}

// age returns how long ago something was, such as 3m; empty: never.
func (p Printer) age(then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(p.Now.Sub(then))
}

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
