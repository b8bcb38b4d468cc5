package variables

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// code matches the names of directives with code in their words, and readsOtherwise also those after which nginx reads another
// file, or a block of Lua.
var (
	code           = regexp.MustCompile(`^(perl|perl_set|.*_by_lua)$`)
	readsOtherwise = regexp.MustCompile(`^(include|perl|perl_set|.*_by_lua|.*_by_lua_block)$`)
)

// Why a value cannot be in its place.
const (
	inCode    = "would be a part of code: give it to a variable of nginx, and use that one in the code"
	inLua     = "would be a part of Lua code: in a block of Lua, write variables only in strings in quotes"
	escaped   = "would follow a backslash, which changes it: remove the backslash"
	twoWords  = "has a space, which would end the word: write the whole word in quotes"
	emptyWord = "is empty, and would leave nothing of the word: write it in quotes, or remove it"
	otherWord = "would change where the word ends: write the whole word in quotes"
	otherName = "would make this an include or code: write the name of the directive instead of a variable"
)

// file replaces the variables of one file.
type file struct {
	*values
	name, text string
	// out is the text with the values up to the offset at.
	out strings.Builder
	at  int
	// secret are the lines with values of Secrets.
	secret []problems.LineRange
	// reported are the variables with a problem in this file.
	reported []string
	problems []instanceapi.Problem
}

func (f *file) replace() {
	for s := range syntax.Statements(f.text) {
		f.statement(s)
	}
	f.expand(len(f.text))
}

// statement replaces the variables up to the end of a statement. Those in a comment before it may have any value: none has a
// line break.
func (f *file) statement(s syntax.Statement) {
	name, secret := s.Name, ""
	for i, word := range s.Words {
		f.expand(word.Start)
		e := f.expand(word.End)
		if i == 0 && e.variable != "" {
			name = syntax.Unquoted(e.text)
		}
		secret = cmp.Or(secret, e.secret)
		f.check(e, f.misfit(e, s, i, name))
	}
	if s.Lua.End > 0 {
		secret = cmp.Or(secret, f.lua(s))
	}
	if secret != "" {
		f.secret = problems.AddLines(f.secret, problems.LineRange{First: s.Line, Last: s.LastLine, Reference: secret})
	}
}

// lua replaces the variables in a Lua block, and returns a reference to a value of a Secret.
func (f *file) lua(s syntax.Statement) string {
	f.expand(s.Lua.Start)
	secret := ""
	for _, quoted := range s.Strings {
		f.check(f.expand(quoted.Start), inLua)
		e := f.expand(quoted.End)
		if e.escaped {
			f.check(e, escaped)
		}
		secret = cmp.Or(secret, e.secret)
	}
	f.check(f.expand(s.Lua.End), inLua)
	return secret
}

// expansion is a part of a file with the values of its variables.
type expansion struct {
	text string
	// variable is the reference that a problem is about, of which value is the value, and at is its offset in the file: the first
	// one whose value has a space, or else the first one. It is empty if there is none.
	variable string
	value    value
	at       int
	// spaced reports whether a value has a space, and escaped whether a backslash is before a reference.
	spaced, escaped bool
	// secret is a reference to a value of a Secret.
	secret string
}

// expand replaces the variables up to an offset, and returns that part.
func (f *file) expand(end int) expansion {
	start, from := f.at, f.at
	var e expansion
	var out strings.Builder
	for at := range references(f.text, start, end) {
		reference := f.text[at.Start:at.End]
		v := f.value(reference)
		if !v.usable {
			continue
		}
		out.WriteString(f.text[from:at.Start] + v.text)
		from = at.End
		before := f.text[start:at.Start]
		e.escaped = e.escaped || (len(before)-len(strings.TrimRight(before, `\`)))%2 != 0
		e.add(reference, v, at.Start)
	}
	out.WriteString(f.text[from:end])
	e.text = out.String()
	f.out.WriteString(e.text)
	f.at = end
	return e
}

func (e *expansion) add(reference string, v value, at int) {
	spaced := strings.Contains(v.text, " ")
	if e.variable == "" || spaced && !e.spaced {
		e.variable, e.value, e.at = reference, v, at
	}
	e.spaced = e.spaced || spaced
	if v.secret && v.text != "" {
		e.secret = reference
	}
}

// misfit returns why the values do not fit into a word of a statement; empty: they do. name is the name of the directive with
// the values.
func (f *file) misfit(e expansion, s syntax.Statement, i int, name string) string {
	end := s.Words[i].End
	next := f.text[end:min(end+1, len(f.text))]
	switch {
	case e.variable == "":
		return ""
	case i > 0 && code.MatchString(name):
		return inCode
	case e.escaped:
		return escaped
	case i == 0 && readsOtherwise.MatchString(name) && !readsOtherwise.MatchString(s.Name):
		return otherName
	case syntax.IsWord(e.text+next, len(e.text)):
		return ""
	case e.spaced:
		return twoWords
	case e.text == "":
		return emptyWord
	default:
		return otherWord
	}
}

// check reports a value that does not fit, once for each variable.
func (f *file) check(e expansion, misfit string) {
	if misfit == "" || e.variable == "" || slices.Contains(f.reported, e.variable) || len(f.problems) == maxProblems {
		return
	}
	f.reported = append(f.reported, e.variable)
	f.problems = append(f.problems, instanceapi.Problem{
		File: f.name, Line: lineOf(f.text, e.at), Message: e.value.name + ": the value" + e.value.of + " " + misfit,
	})
}
