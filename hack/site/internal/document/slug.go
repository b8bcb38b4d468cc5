package document

import (
	"strconv"
	"strings"
	"unicode"
)

// slug returns the anchor that GitHub gives to a heading.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r), r == '-', r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unique numbers an anchor that the page has already.
func unique(seen map[string]int, anchor string) string {
	result := anchor
	for seen[result] > 0 {
		result = anchor + "-" + strconv.Itoa(seen[anchor])
		seen[anchor]++
	}
	seen[result]++
	return result
}
