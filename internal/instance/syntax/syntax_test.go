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
