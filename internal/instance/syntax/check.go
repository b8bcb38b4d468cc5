package syntax

import "fmt"

// Error is the first place of a file that nginx does not understand.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Check returns why a file is not a sequence of directives and blocks, or nil. It does not know the directives.
func Check(text string) *Error {
	s := parser{words: words{text: text, line: 1}, open: []*Directive{{}}}
	for {
		s.words.skipBlank()
		start, line := s.words.pos, s.words.line
		t := s.words.next()
		if e := s.problem(t, start, line); e != nil {
			return e
		}
		if !s.accept(t) {
			return s.refused(t, line)
		}
	}
}

// problem returns what is wrong with a token, although a scan continues after it, or nil.
func (s *parser) problem(t token, start, line int) *Error {
	switch {
	case t.kind == end && start < len(s.words.text):
		return &Error{line, "a quoted text begins here and does not end"}
	case t.kind == closing && s.statement != nil:
		return &Error{line, fmt.Sprintf(`"%s" is not ended by ";"`, s.statement.Name)}
	}
	return nil
}

// refused returns why a scan ends with a token, or nil if it is the end of the file.
func (s *parser) refused(t token, line int) *Error {
	switch {
	case t.kind == closing:
		return &Error{line, `there is no block that this "}" could end`}
	case t.kind == semicolon || t.kind == opening && len(s.open) <= maxDepth:
		return &Error{line, fmt.Sprintf("there is no directive before %q", s.words.text[t.start:t.start+1])}
	case t.kind == opening:
		return &Error{line, fmt.Sprintf("blocks are nested more than %d deep", maxDepth)}
	case s.statement != nil:
		return &Error{s.statement.Line, fmt.Sprintf(`"%s" is not ended by ";" or "{"`, s.statement.Name)}
	case len(s.open) > 1:
		d := s.open[len(s.open)-1]
		return &Error{d.Line, fmt.Sprintf(`the block of "%s" does not end: "}" is missing`, d.Name)}
	}
	return nil
}
