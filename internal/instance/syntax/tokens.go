package syntax

import "strings"

type kind int

const (
	end kind = iota
	word
	semicolon
	opening
	closing
)

type token struct {
	kind  kind
	text  string
	start int
	line  int
}

// words splits a text like nginx's ngx_conf_read_token.
type words struct {
	text string
	pos  int
	line int
}

func (w *words) next() token {
	w.skipBlank()
	if w.pos >= len(w.text) {
		return token{kind: end}
	}
	single := map[byte]kind{';': semicolon, '{': opening, '}': closing}
	switch c := w.text[w.pos]; c {
	case ';', '{', '}':
		w.pos++
		return token{kind: single[c], start: w.pos - 1, line: w.line}
	case '"', '\'':
		return w.quoted(c)
	default:
		return w.plain()
	}
}

// skipBlank skips white space and comments. A '#' starts a comment only where a word could start.
func (w *words) skipBlank() {
	for w.pos < len(w.text) {
		switch w.text[w.pos] {
		case '\n':
			w.line++
		case ' ', '\t', '\r':
		case '#':
			length := strings.IndexByte(w.text[w.pos:], '\n')
			if length < 0 {
				w.pos = len(w.text)
				return
			}
			w.pos += length
			continue
		default:
			return
		}
		w.pos++
	}
}

func (w *words) quoted(quote byte) token {
	t := token{kind: word, start: w.pos, line: w.line}
	w.pos++
	from := w.pos
	for w.pos < len(w.text) {
		switch w.text[w.pos] {
		case '\\':
			w.countLine(w.pos + 1)
			w.pos++
		case '\n':
			w.line++
		case quote:
			t.text = unescape(w.text[from:w.pos])
			w.pos++
			return t
		}
		w.pos++
	}
	w.pos = len(w.text)
	return token{kind: end}
}

func (w *words) plain() token {
	t := token{kind: word, start: w.pos, line: w.line}
	variable := false
	for w.pos < len(w.text) {
		c := w.text[w.pos]
		// ${name} is part of the word; any other '{' ends it.
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';' || (c == '{' && !variable) {
			break
		}
		variable = c == '$'
		if c == '\\' {
			w.countLine(w.pos + 1)
			w.pos++
		}
		w.pos++
	}
	w.pos = min(w.pos, len(w.text))
	t.text = unescape(w.text[t.start:w.pos])
	return t
}

func (w *words) countLine(at int) {
	if at < len(w.text) && w.text[at] == '\n' {
		w.line++
	}
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\t`, "\t", `\r`, "\r", `\n`, "\n")

func unescape(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	return unescaper.Replace(raw)
}
