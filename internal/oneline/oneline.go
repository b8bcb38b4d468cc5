// Package oneline makes words of somebody else's safe to be shown. It is pure.
package oneline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of makes one line of a text: the ends of lines and tabulators become spaces, and what would move a
// terminal's cursor, or turn the direction of reading, is replaced.
func Of(text string) string { return strings.Map(shown, text) }

func shown(c rune) rune {
	switch {
	case c == '\n', c == '\r', c == '\t':
		return ' '
	case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point):
		return utf8.RuneError
	default:
		return c
	}
}
