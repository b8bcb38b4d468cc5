package poddiagnosis

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/messages"
)

// MaxMessage is the maximum length of an event's note, in bytes. A condition could be longer, but
// would not be readable.
const MaxMessage = 1024

// mostProblems bounds how many problems of a configuration are reported. nginx usually stops at the
// first.
const mostProblems = 3

// Problems returns nginx's messages, each with its file and line.
func Problems(all []instanceapi.Problem) string {
	var shown []string
	for _, p := range all[:min(len(all), mostProblems)] {
		shown = append(shown, formatProblem(p))
	}
	if more := len(all) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "; ")
}

func formatProblem(p instanceapi.Problem) string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.File != "":
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	default:
		return p.Message
	}
}

// Clip returns the message as one line that fits into the note of an event.
func Clip(message string) string { return Shorten(message, MaxMessage) }

// Shorten returns the text as one line of at most most bytes. The text often comes from an
// untrusted source, such as a container's last output, so characters that would move a terminal's
// cursor or change the direction of text are replaced.
func Shorten(text string, most int) string {
	const more = "…"
	text = messages.Line(text)
	if len(text) <= most {
		return text
	}
	cut := most - len(more)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
