package messages

import "testing"

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		"ten bytes.":   "ten bytes.",
		"ten\nbytes.":  "ten bytes.",
		"eleven byte":  "eleven …",
		"123456ä8901":  "123456…",
		"\x1b12345678": "\ufffd1234…",
	} {
		if got := Shorten(text, 10); got != want || len(got) > 10 {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
