package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes the files of a repository.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, top := range []string{"internal", "cmd", "test"} {
		if err := os.Mkdir(filepath.Join(root, top), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// table returns a document with a row of a test and packages.
func table(test string, packages ...string) string {
	return "# Security\n\n## Boundaries\n\n| what |" + strings.Repeat(" x |", 8) + " test | code |\n|" + strings.Repeat("---|", columns) +
		"\n| a |" + strings.Repeat(" x |", 8) + " `" + test + "` | `" + strings.Join(packages, "`, `") + "` |\n\n## Next\n\n| other |\n"
}

const decoder = "package p\n\nimport \"encoding/json\"\n\nfunc f() { json.Unmarshal(nil, nil) }\n"

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		table string
		// listed are the lines of calls.txt, in addition to that of p.go.
		listed string
		want   []string
	}{
		"all named":    {map[string]string{"internal/p/p.go": decoder}, table("TestA", "internal/p"), "", nil},
		"not named":    {map[string]string{"internal/p/p.go": decoder, "cmd/q/q.go": decoder}, table("FuzzA", "internal/p"), "cmd/q/q.go encoding/json.Unmarshal 1", []string{"cmd/q/q.go:5:12: encoding/json.Unmarshal: no row names cmd/q: bound it, and add it with its numbers and its test"}},
		"missing":      {map[string]string{"internal/p/p.go": decoder}, table("TestA", "internal/p", "internal/gone"), "", []string{`row "a": internal/gone has no listener, decoder or cache any more: remove it from the row`}},
		"no test":      {map[string]string{"internal/p/p.go": decoder}, table("TestB", "internal/p"), "", []string{`row "a": no _test.go file has func TestB: name the test that attacks this boundary`}},
		"empty cells":  {nil, strings.ReplaceAll(table("TestA"), "`", ""), "-", []string{`row "a": name a test and a package, each in backquotes`}},
		"only in test": {map[string]string{"internal/p/p_test.go": decoder, "internal/p/testdata/p.go": decoder}, table("TestA", "internal/p"), "-", []string{`row "a": internal/p has no listener, decoder or cache any more: remove it from the row`}},
		"a second one in the package": {map[string]string{"internal/p/p.go": decoder, "internal/p/r.go": decoder}, table("TestA", "internal/p"), "", []string{
			`internal/p/r.go:5:12: hack/boundaries/calls.txt has no line "internal/p/r.go encoding/json.Unmarshal 1": check that a row of docs/security.md bounds it, with its test, and add the line`,
		}},
		"a second one in the file": {map[string]string{"internal/p/p.go": decoder + "\nfunc g() { json.Unmarshal(nil, nil) }\n"}, table("TestA", "internal/p"), "", []string{
			`internal/p/p.go:5:12, internal/p/p.go:7:12: hack/boundaries/calls.txt has no line "internal/p/p.go encoding/json.Unmarshal 2": check that a row of docs/security.md bounds it, with its test, and add the line`,
			`hack/boundaries/calls.txt: the line "internal/p/p.go encoding/json.Unmarshal 1" is of no call any more: remove it`,
		}},
		"another one in the file": {map[string]string{"internal/p/p.go": strings.Replace(decoder, "json.Unmarshal(nil, nil)", "json.Unmarshal(nil, nil); json.NewDecoder(nil)", 1)}, table("TestA", "internal/p"), "", []string{
			`internal/p/p.go:5:38: hack/boundaries/calls.txt has no line "internal/p/p.go encoding/json.NewDecoder 1": check that a row of docs/security.md bounds it, with its test, and add the line`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.listed != "-" {
				tt.listed += "\ninternal/p/p.go encoding/json.Unmarshal 1\n"
			}
			files := map[string]string{tablePath: tt.table, callsPath: strings.TrimPrefix(tt.listed, "-"), "test/a_test.go": "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc FuzzA(f *testing.F) {}\n"}
			maps.Copy(files, tt.files)
			got, err := check(tree(t, files))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestCalls: names are resolved by the imports of the file.
func TestCalls(t *testing.T) {
	for name, tt := range map[string]struct{ imports, body, want string }{
		"renamed":              {`j "encoding/json"`, "j.NewDecoder(nil)", "encoding/json.NewDecoder"},
		"another package":      {`json "example.com/json"`, "json.Unmarshal(nil, nil)", ""},
		"a local variable":     {`"encoding/json"`, "json := 1; json.Unmarshal()", ""},
		"encodes only":         {`"encoding/json"`, "json.Marshal(nil)", ""},
		"a function value":     {`"io"`, "g(io.ReadAll)", "io.ReadAll"},
		"a listener":           {`"net"`, `net.Listen("tcp", "")`, "net.Listen"},
		"a type":               {`"net"`, "var _ net.Listener", ""},
		"a configured one":     {`"net"`, `(&net.ListenConfig{}).Listen(nil, "tcp", "")`, "net.ListenConfig{}"},
		"a server":             {`"net/http"`, "_ = &http.Server{}", "net/http.Server{}"},
		"a type of a server":   {`"net/http"`, "var _ *http.Server", ""},
		"an address":           {`"net/http"`, "s.ListenAndServeTLS()", ".ListenAndServeTLS"},
		"a version":            {`"go.yaml.in/yaml/v3"`, "yaml.Unmarshal(nil, nil)", "go.yaml.in/yaml/v3.Unmarshal"},
		"YAML of Kubernetes":   {`"k8s.io/apimachinery/pkg/util/yaml"`, "yaml.NewYAMLOrJSONDecoder(nil, 1)", "k8s.io/apimachinery/pkg/util/yaml.NewYAMLOrJSONDecoder"},
		"of this module":       {`"example.com/nginx-operator/internal/httpserver"`, "httpserver.New(nil)", "internal/httpserver.New"},
		"bounded JSON":         {`"example.com/nginx-operator/internal/boundedjson"`, "_ = boundedjson.Limits{}", "internal/boundedjson.Limits"},
		"compressed":           {`"compress/gzip"`, "gzip.NewReader(nil)", "compress/gzip.NewReader"},
		"compresses only":      {`"compress/gzip"`, "gzip.NewWriter(nil)", ""},
		"certificates":         {`"crypto/x509"`, "x509.ParsePKCS8PrivateKey(nil)", "crypto/x509.ParsePKCS8PrivateKey"},
		"a file":               {`"os"`, `os.ReadFile("")`, "os.ReadFile"},
		"lines":                {`"bufio"`, "bufio.NewScanner(nil)", "bufio.NewScanner"},
		"a writer with buffer": {`"bufio"`, "bufio.NewWriter(nil)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			calls, want := map[call][]string{}, map[call][]string{}
			if tt.want != "" {
				want[call{"p.go", tt.want}] = nil
			}
			if err := addCalls(calls, "p.go", []byte("package p\n\nimport "+tt.imports+"\n\nfunc f() { "+tt.body+" }\n")); err != nil || len(calls) != len(want) {
				t.Fatalf("%q (%v), want %q", calls, err, want)
			}
			for c := range want {
				if len(calls[c]) != 1 {
					t.Errorf("%q, want %q", calls, want)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"no section": "# Security\n", "no rows": "\n## Boundaries\n\ntext\n\n## Next\n", "few columns": "\n## Boundaries\n| a | `TestA` | `internal/p` |\n",
	} {
		if rows, err := parse(text); err == nil {
			t.Errorf("%s: %v", name, rows)
		}
	}
}
