package importer

import (
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// tidy removes white space at the ends of lines, outside of words and Lua: a text without it is readable in YAML.
func tidy(text string) string {
	var b strings.Builder
	at := 0
	for s := range syntax.Statements(text) {
		spans := s.Words
		if s.Lua.End > 0 {
			spans = append(spans, s.Lua)
		}
		for _, span := range spans {
			b.WriteString(trimLines(text[at:span.Start]))
			b.WriteString(text[span.Start:span.End])
			at = span.End
		}
	}
	b.WriteString(trimLines(text[at:]))
	return b.String()
}

// trimLines removes white space before each line break.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Join(lines, "\n")
}
