// Package syntax finds the directives in nginx's configuration files: where they
// stand, in which blocks, and with which arguments.
//
// It reads words as nginx does (ngx_conf_read_token): quotes, escapes, comments,
// ${variables} and blocks of Lua. It never judges. What it cannot make sense of it
// passes over, as nginx itself is asked afterwards. It exists because every directive
// is needed with its byte offset: the instance changes files of users without moving
// a line (see docs/decisions/0007-scanner-of-directives.md).
package syntax

import "strings"

// maxDepth bounds the nesting of blocks. nginx's own contexts are nested at will only
// by locations; nobody comes near.
const maxDepth = 64

// Directive is a statement of a configuration file.
type Directive struct {
	Name string
	Args []string
	// Line of the name, from 1 on.
	Line int
	// Start is the offset of the name, and End that behind the ';' or '{'.
	Start, End int
	// Opens tells whether a block follows, and Block what is in it. The content of a
	// block of Lua is not looked at.
	Opens bool
	Block []*Directive
}

// Is tells whether the directive has the name and exactly the arguments.
func (d *Directive) Is(name string, args ...string) bool {
	if d.Name != name || len(d.Args) != len(args) {
		return false
	}
	for i, arg := range args {
		if d.Args[i] != arg {
			return false
		}
	}
	return true
}

// Scan returns the directives of a file, up to the first place that makes no sense.
func Scan(text string) []*Directive {
	s := scanner{words: words{text: text, line: 1}, open: []*Directive{{}}}
	root := s.open[0]
	for s.accept(s.words.next()) {
	}
	return root.Block
}

// scanner puts words together to directives.
type scanner struct {
	words words
	// open blocks, the innermost last; the first one stands for the file.
	open []*Directive
	// statement that has begun, or nil.
	statement *Directive
}

// accept takes the next word or sign. It returns false where there is no going on.
func (s *scanner) accept(t token) bool {
	switch t.kind {
	case word:
		if s.statement == nil {
			s.statement = &Directive{Name: t.text, Line: t.line, Start: t.start}
		} else {
			s.statement.Args = append(s.statement.Args, t.text)
		}
		return true
	case semicolon, opening:
		return s.finish(t.kind == opening)
	case closing:
		s.statement = nil
		s.open = s.open[:len(s.open)-1]
		return len(s.open) > 0
	default:
		return false
	}
}

// finish ends the statement, by a block or without.
func (s *scanner) finish(opens bool) bool {
	d := s.statement
	if d == nil {
		return false
	}
	s.statement = nil
	d.End, d.Opens = s.words.pos, opens
	inner := s.open[len(s.open)-1]
	inner.Block = append(inner.Block, d)
	switch {
	case opens && strings.HasSuffix(d.Name, "_by_lua_block"):
		s.words.skipLua()
	case opens:
		s.open = append(s.open, d)
	}
	return len(s.open) <= maxDepth
}
