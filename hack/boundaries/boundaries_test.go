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
		want  []string
	}{
		"all named":    {map[string]string{"internal/p/p.go": decoder}, table("TestA", "internal/p"), nil},
		"not named":    {map[string]string{"internal/p/p.go": decoder, "cmd/q/q.go": decoder}, table("FuzzA", "internal/p"), []string{"cmd/q/q.go:5:12: encoding/json.Unmarshal: no row names cmd/q: bound it, and add it with its numbers and its test"}},
		"missing":      {map[string]string{"internal/p/p.go": decoder}, table("TestA", "internal/p", "internal/gone"), []string{`row "a": internal/gone has no listener, decoder or cache any more: remove it from the row`}},
		"no test":      {map[string]string{"internal/p/p.go": decoder}, table("TestB", "internal/p"), []string{`row "a": no _test.go file has func TestB: name the test that attacks this boundary`}},
		"empty cells":  {nil, strings.ReplaceAll(table("TestA"), "`", ""), []string{`row "a": name a test and a package, each in backquotes`}},
		"only in test": {map[string]string{"internal/p/p_test.go": decoder, "internal/p/testdata/p.go": decoder}, table("TestA", "internal/p"), []string{`row "a": internal/p has no listener, decoder or cache any more: remove it from the row`}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{tablePath: tt.table, "test/a_test.go": "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc FuzzA(f *testing.F) {}\n"}
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

// TestFirstCall: names are resolved by the imports of the file.
func TestFirstCall(t *testing.T) {
	for name, tt := range map[string]struct{ imports, body, want string }{
		"renamed":              {`j "encoding/json"`, "j.NewDecoder(nil)", "encoding/json.NewDecoder"},
		"another package":      {`json "example.com/json"`, "json.Unmarshal(nil, nil)", ""},
		"a local variable":     {`"encoding/json"`, "json := 1; json.Unmarshal()", ""},
		"encodes only":         {`"encoding/json"`, "json.Marshal(nil)", ""},
		"a function value":     {`"io"`, "g(io.ReadAll)", "io.ReadAll"},
		"a listener":           {`"net"`, `net.Listen("tcp", "")`, "net.Listen"},
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
			call, err := firstCall("p.go", []byte("package p\n\nimport "+tt.imports+"\n\nfunc f() { "+tt.body+" }\n"))
			if _, got, _ := strings.Cut(call, ": "); err != nil || got != tt.want {
				t.Errorf("%q (%v), want %q", call, err, tt.want)
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
