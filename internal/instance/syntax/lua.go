package syntax

import (
	"regexp"
	"strings"
)

// skipLua skips the rest of a Lua block, including the closing brace. Braces in Lua strings and
// comments do not count. It calls visit for each quoted string.
func (w *words) skipLua(visit func(from, to int)) {
	from := w.pos
	depth := 1
	for w.pos < len(w.text) && depth > 0 {
		switch w.text[w.pos] {
		case '{':
			depth++
		case '}':
			depth--
		case '"', '\'':
			start := w.pos
			w.skipLuaString(w.text[w.pos])
			visit(start, min(w.pos, len(w.text)))
		case '[':
			w.skipLongBracket()
		case '-':
			w.skipLuaComment()
		}
		w.pos++
	}
	w.pos = min(w.pos, len(w.text))
	w.line += strings.Count(w.text[from:w.pos], "\n")
}

// skipLuaString leaves pos at the closing quote, or at the end of the line, because a Lua string
// ends there.
func (w *words) skipLuaString(quote byte) {
	for w.pos++; w.pos < len(w.text); w.pos++ {
		switch w.text[w.pos] {
		case '\\':
			w.pos++
		case quote, '\n':
			return
		}
	}
}

func (w *words) skipLuaComment() {
	if !strings.HasPrefix(w.text[w.pos:], "--") {
		return
	}
	w.pos += 2
	if w.pos < len(w.text) && w.text[w.pos] == '[' && w.skipLongBracket() {
		return
	}
	if length := strings.IndexByte(w.text[w.pos:], '\n'); length >= 0 {
		w.pos += length
	} else {
		w.pos = len(w.text)
	}
}

var longBracket = regexp.MustCompile(`^\[(=*)\[`)

// skipLongBracket leaves pos at the last character of a [[...]] or [=[...]=], if one begins at pos,
// and reports whether one does.
func (w *words) skipLongBracket() bool {
	level := longBracket.FindStringSubmatch(w.text[w.pos:])
	if level == nil {
		return false
	}
	closing := "]" + level[1] + "]"
	if length := strings.Index(w.text[w.pos+len(level[0]):], closing); length >= 0 {
		w.pos += len(level[0]) + length + len(closing) - 1
	} else {
		w.pos = len(w.text)
	}
	return true
}
