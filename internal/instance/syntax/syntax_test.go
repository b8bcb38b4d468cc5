package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline formats directives: line, name, arguments, and the content of blocks.
func outline(directives []*Directive) string {
	var b strings.Builder
	for _, d := range directives {
		fmt.Fprintf(&b, "%d:%s", d.Line, d.Name)
		for _, arg := range d.Args {
			fmt.Fprintf(&b, " %q", arg)
		}
		if d.Opens {
			b.WriteString(" {" + outline(d.Block) + "}")
		}
		b.WriteString(";")
	}
	return b.String()
}

func TestScan(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":            {"", ""},
		"statements":         {"a;\nb c 'd e' \"f;g\";", `1:a;2:b "c" "d e" "f;g";`},
		"blocks":             {"a { b { c; } }\nd;", "1:a {1:b {1:c;};};2:d;"},
		"comments":           {"# a;\nb; # c {\nd;", "2:b;3:d;"},
		"a sharp in a word":  {"a b#c;", `1:a "b#c";`},
		"escapes":            {`a b\;c "d\"e";`, `1:a "b\\;c" "d\"e";`},
		"variables":          {"a ${b}c;", `1:a "${b}c";`},
		"over several lines": {"a\n  b\n  c;", `1:a "b" "c";`},
		"Lua":                {"content_by_lua_block { ngx.say('}') }\nb;", "1:content_by_lua_block {};2:b;"},
		"a brace too many":   {"a; }\nb;", "1:a;"},
		"an open block":      {"a { b;", "1:a {1:b;};"},
		"an open quote":      {"a; b 'c;", "1:a;"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, outline(Scan(tt.text))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzScan: the offsets lead to the directive for any text.
func FuzzScan(f *testing.F) {
	f.Add("http { server { listen 80; } } # x\n")
	f.Add("a ${b} 'c\\'d'; content_by_lua_block { [[ } ]] }")
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, Scan(text))
	})
}

func check(t *testing.T, text string, directives []*Directive) {
	t.Helper()
	for _, d := range directives {
		if d.Start < 0 || d.End > len(text) || d.Start >= d.End {
			t.Fatalf("%s is from %d to %d of %d bytes", d.Name, d.Start, d.End, len(text))
		}
		if last := text[d.End-1]; last != ';' && last != '{' {
			t.Fatalf("%s ends with %q", d.Name, last)
		}
		if line := 1 + strings.Count(text[:d.Start], "\n"); line != d.Line {
			t.Fatalf("%s is in line %d, not in %d", d.Name, line, d.Line)
		}
		check(t, text, d.Block)
	}
}

func TestWalk(t *testing.T) {
	tree := NewTree("/c", map[string]string{
		"/c/main":      "http { include *.conf; } end;",
		"/c/a.conf":    "server { include loop; }",
		"/c/b.conf":    "gzip on;",
		"/c/loop":      "include /c/loop; deep;",
		"/elsewhere/x": "never;",
	})
	var got []string
	tree.Walk("/c/main", func(v Visit) {
		var around []string
		for _, d := range v.Context {
			around = append(around, d.Name)
		}
		line := strings.Join(append(around, v.Name), "/") + " " + v.File
		if v.Loop {
			line += " loop"
		}
		got = append(got, line)
	})
	want := []string{
		"http /c/main", "http/include /c/main",
		"http/server /c/a.conf", "http/server/include /c/a.conf",
		"http/server/include /c/loop loop", "http/server/deep /c/loop",
		"http/gzip /c/b.conf", "end /c/main",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStatements: the ranges are those of the words and the Lua strings, also where blocks do not match.
func TestStatements(t *testing.T) {
	const text = "a 'b c' ${d}e # f\n  \"g\";\n} { h\n{ content_by_lua_block { ngx.say(\"i}\")\n-- 'j'\n} } last"
	var got []string
	for s := range Statements(text) {
		line := fmt.Sprintf("%d-%d", s.Line, s.LastLine)
		for _, word := range s.Words {
			line += " " + text[word.Start:word.End]
		}
		for _, quoted := range s.Strings {
			line += " Lua:" + text[quoted.Start:quoted.End]
		}
		got = append(got, line)
	}
	want := []string{`1-2 a 'b c' ${d}e "g"`, "3-4 h", `4-6 content_by_lua_block Lua:"i}`, "6-6 last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestIsWord(t *testing.T) {
	for _, after := range []string{"", ";", "{", " b", "\n"} {
		for text, want := range map[string]bool{"a": true, "'a b'": true, `"a b"`: true, "${a}": true, "a b": false, "": false, "'a": false, "#a": false, "a;": false} {
			if got := IsWord(text+after, len(text)); got != want {
				t.Errorf("IsWord(%q, %d) = %t", text+after, len(text), got)
			}
		}
	}
}

// FuzzStatements: for any text, words and Lua blocks are in their order and do not overlap, and each word is one.
func FuzzStatements(f *testing.F) {
	f.Add("http { server { listen 80; } } # x\n")
	f.Add("a ${b} 'c\\'d'; content_by_lua_block { [[ } ]] '}' }")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for s := range Statements(text) {
			spans := s.Words
			if s.Lua.End > 0 {
				spans = append(spans, s.Lua)
			}
			for i, span := range spans {
				if span.Start < at || span.End < span.Start || span.End > len(text) {
					t.Fatalf("%+v after %d", span, at)
				}
				if at = span.End; i < len(s.Words) && !IsWord(text[span.Start:], span.End-span.Start) {
					t.Fatalf("%q is not one word", text[span.Start:span.End])
				}
			}
		}
	})
}
