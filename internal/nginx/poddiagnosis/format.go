package poddiagnosis

import (
	"fmt"
	"strings"

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
func Clip(message string) string { return messages.Shorten(message, MaxMessage) }
