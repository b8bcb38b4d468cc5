package trouble

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/oneline"
)

// MaxMessage is the length that the API allows for an event's note, in bytes; a
// condition could have more, and nobody would read it.
const MaxMessage = 1024

// mostProblems is how many of the things that are wrong with a configuration are told:
// nginx mostly stops at the first.
const mostProblems = 3

// Problems are in nginx's words, each with its place.
func Problems(all []instanceapi.Problem) string {
	var told []string
	for _, p := range all[:min(len(all), mostProblems)] {
		told = append(told, problem(p))
	}
	if more := len(all) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, "; ")
}

func problem(p instanceapi.Problem) string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.File != "":
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	default:
		return p.Message
	}
}

// Clip makes one line of a message, and shortens it to what the note of an event may have.
func Clip(message string) string { return Shorten(message, MaxMessage) }

// Shorten makes one line of a text, of so many bytes at most. The words are often those of
// somebody whom nobody trusts, such as a container's last ones: what would move a terminal's
// cursor, or turn the direction of reading, is replaced.
func Shorten(text string, most int) string {
	const more = "…"
	text = oneline.Of(text)
	if len(text) <= most {
		return text
	}
	cut := most - len(more)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
