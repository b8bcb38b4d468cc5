package syntax

import (
	"iter"
	"strings"
)

// Span is a range of bytes.
type Span struct{ Start, End int }

// Statement is a directive, or another entry of a block, as it is written.
type Statement struct {
	// Name is the first word, and Words are the ranges of all words, with their quotes.
	Name  string
	Words []Span
	// Line is the line of the first word, and LastLine is the line in which the statement and its Lua block end.
	Line, LastLine int
	// Lua is the content of a Lua block, and Strings are the quoted strings in it.
	Lua     Span
	Strings []Span
}

// Statements returns the statements of a file, in their order. Unlike Scan, it does not stop at a block that does not end
// or does not begin. What is not in a word or in a Lua block is white space, a comment, or punctuation.
func Statements(text string) iter.Seq[Statement] {
	return func(yield func(Statement) bool) {
		w := words{text: text, line: 1}
		var s Statement
		for {
			t := w.next()
			if t.kind == word {
				s.add(t, w.pos)
				continue
			}
			if t.kind == opening && opensLua(s.Name) {
				s.Lua.Start = w.pos
				w.skipLua(func(from, to int) { s.Strings = append(s.Strings, Span{from, to}) })
				s.Lua.End = w.pos
			}
			s.LastLine = w.line
			if len(s.Words) > 0 && !yield(s) || t.kind == end {
				return
			}
			s = Statement{}
		}
	}
}

func (s *Statement) add(t token, end int) {
	if len(s.Words) == 0 {
		s.Name, s.Line = t.text, t.line
	}
	s.Words = append(s.Words, Span{t.start, end})
}

// opensLua reports whether the block of a directive contains Lua.
func opensLua(name string) bool { return strings.HasSuffix(name, "_by_lua_block") }

// IsWord reports whether the beginning of a text, of a length in bytes, is one word.
func IsWord(text string, length int) bool {
	w := words{text: text, line: 1}
	t := w.next()
	return t.kind == word && t.start == 0 && w.pos == length
}

// Unquoted returns the text of a word as nginx reads it.
func Unquoted(raw string) string {
	w := words{text: raw, line: 1}
	return w.next().text
}
