// Package messages makes text from other programs safe to display. It is pure.
package messages

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text as one line: the ends of lines and tabulators become spaces, and characters are replaced that
// would move a terminal's cursor or change the direction of reading.
func Line(text string) string { return strings.Map(printableRune, text) }

func printableRune(c rune) rune {
	switch {
	case c == '\n', c == '\r', c == '\t':
		return ' '
	case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point):
		return utf8.RuneError
	default:
		return c
	}
}
