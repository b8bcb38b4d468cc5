package messages

import "unicode/utf8"

// ellipsis ends a text that was shortened.
const ellipsis = "…"

// Shorten returns a text as one line of at most limit bytes, which must have room for the ellipsis.
func Shorten(text string, limit int) string {
	text = Line(text)
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
