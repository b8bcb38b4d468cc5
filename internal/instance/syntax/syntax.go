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
	w := words{text: text, line: 1}
	root := &Directive{}
	open := []*Directive{root}
	var statement Directive
	for {
		token := w.next()
		inner := open[len(open)-1]
		switch token.kind {
		case word:
			if statement.Name == "" && len(statement.Args) == 0 && statement.Line == 0 {
				statement = Directive{Name: token.text, Line: token.line, Start: token.start}
			} else {
				statement.Args = append(statement.Args, token.text)
			}
			continue
		case semicolon, opening:
			if statement.Line == 0 {
				return root.Block
			}
			found := statement
			found.End, found.Opens = w.pos, token.kind == opening
			inner.Block = append(inner.Block, &found)
			if found.Opens && strings.HasSuffix(found.Name, "_by_lua_block") {
				w.skipLua()
			} else if found.Opens {
				open = append(open, &found)
			}
		case closing:
			open = open[:len(open)-1]
		}
		statement = Directive{}
		if token.kind == end || len(open) == 0 || len(open) > maxDepth {
			return root.Block
		}
	}
}
