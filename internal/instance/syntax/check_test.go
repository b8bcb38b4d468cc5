package syntax

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"# only a comment":                      "",
		"events {}\nhttp { server { a b; } }\n": "",
		"content_by_lua_block { x = '}' }":      "",
		"user nginx\n":                          `line 1: "user" is not ended by ";" or "{"`,
		"http {\n server {\n }\n":               `line 1: the block of "http" does not end`,
		"http { server { listen 80 } }":         `line 1: "listen" is not ended by ";"`,
		"events {}\n}\n":                        `line 2: there is no block`,
		"a;\n;":                                 `line 2: there is no directive before ";"`,
		"\n{":                                   `line 2: there is no directive before "{"`,
		"a;\nreturn 200 \"hello;\n}":            `line 2: a quoted text begins here`,
		strings.Repeat("a {", 65):               `nested more than 64 deep`,
	} {
		err := Check(text)
		switch {
		case err == nil && want != "":
			t.Errorf("%q is accepted, want %q", text, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
