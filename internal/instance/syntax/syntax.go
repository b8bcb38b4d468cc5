// Package syntax finds the directives in nginx's configuration files: their positions, blocks and
// arguments.
//
// It reads words as nginx does (ngx_conf_read_token): quotes, escapes, comments, ${variables} and
// Lua blocks. It reports no errors and skips what it does not understand, because nginx itself tests
// the files afterwards. It exists because the byte offset of every directive is needed: the instance
// changes files of users without moving a line (see docs/decisions/0007-scanner-of-directives.md).
package syntax

// maxDepth bounds the nesting of blocks. In nginx, only locations can be nested arbitrarily, and no
// real configuration comes near the bound.
const maxDepth = 64

// Directive is a statement of a configuration file.
type Directive struct {
	Name string
	Args []string
	// Line is the line of the name, counted from 1.
	Line int
	// Start is the offset of the name, and End is the offset after the ';' or '{'.
	Start, End int
	// Opens reports whether a block follows, and Block is its content. The content of a Lua block
	// is not read.
	Opens bool
	Block []*Directive
}

// Is reports whether the directive has the name and exactly the arguments.
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

// Scan returns the directives of a file, up to the first place that it does not understand.
func Scan(text string) []*Directive {
	s := parser{words: words{text: text, line: 1}, open: []*Directive{{}}}
	root := s.open[0]
	for s.accept(s.words.next()) {
	}
	return root.Block
}

// parser combines words into directives.
type parser struct {
	words words
	// open are the open blocks, the innermost last; the first one stands for the file.
	open []*Directive
	// statement is the statement that has begun, or nil.
	statement *Directive
}

// accept adds the next token. It returns false if the scan cannot continue.
func (s *parser) accept(t token) bool {
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

// finish ends the statement, with a block if opens is set.
func (s *parser) finish(opens bool) bool {
	d := s.statement
	if d == nil {
		return false
	}
	s.statement = nil
	d.End, d.Opens = s.words.pos, opens
	inner := s.open[len(s.open)-1]
	inner.Block = append(inner.Block, d)
	switch {
	case opens && opensLua(d.Name):
		s.words.skipLua(func(int, int) {})
	case opens:
		s.open = append(s.open, d)
	}
	return len(s.open) <= maxDepth
}
