package messages

import "testing"

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain ☃":                   "plain ☃",
		"one\r\ntwo\tthree":         "one  two three",
		"\x1b[2Jgone\x7f\u0085":     "�[2Jgone��",
		"right \u202eto left\u2028": "right �to left�",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
