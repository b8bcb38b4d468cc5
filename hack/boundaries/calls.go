package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// boundary matches, as import path and name, what listens, reads a whole input, decodes it, or caches it within a budget.
// Packages of this module have the names of their folders.
var boundary = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`net\.(?:Listen(?:[A-Z].*)?|FileListener)|net/http\.(?:Serve|ServeTLS|Server{})|.*\.ListenAndServe.*`,
	`io\.ReadAll|os\.ReadFile|bufio\.New(?:Scanner|Reader|ReaderSize|ReadWriter)`,
	`encoding/(?:json|xml|gob)\.(?:Unmarshal|NewDecoder)|encoding/csv\.NewReader`,
	`encoding/pem\.Decode|crypto/x509\.Parse.*|crypto/tls\.X509KeyPair`,
	`archive/(?:tar|zip)\.(?:NewReader|OpenReader)|(?:compress|github\.com/klauspost/compress)/\w+\.NewReader.*`,
	`(?:sigs\.k8s\.io|go\.yaml\.in|gopkg\.in)/yaml(?:[./]\w+)?\.(?:Unmarshal.*|NewDecoder|YAMLToJSON.*)`,
	`k8s\.io/apimachinery/pkg/util/(?:json|yaml)\.(?:Unmarshal|New).*|sigs\.k8s\.io/json\.Unmarshal.*`,
	`k8s\.io/apimachinery/pkg/runtime/serializer/\w+\.NewSerializer.*|sigs\.k8s\.io/controller-runtime/pkg/cache\.New`,
	`internal/httpserver\.(?:Listen|New|Bodies)|internal/boundedjson\.(?:Limits|Size)|internal/plugin/userfile\.Read.*`,
	`internal/kube/budget\.New|internal/kube/caches\.New.*`,
	`k8s\.io/client-go/rest\.(?:Unversioned)?RESTClientFor|sigs\.k8s\.io/controller-runtime/pkg/client\.New`,
	`gocloud\.dev/blob/\w+\.OpenBucket.*|github\.com/prometheus/common/expfmt\.New.*Parser`,
}, "|") + `)$`)

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// call is a function, or a server, at which input crosses a boundary, in a file.
type call struct{ file, function string }

// dir returns the package of a call.
func (c call) dir() string { return path.Dir(c.file) }

// scan returns the positions of all boundaries in internal and cmd, and the names of all tests.
func scan(root string) (calls map[call][]string, tests map[string]bool, err error) {
	calls, tests = map[call][]string{}, map[string]bool{}
	for _, top := range []string{"internal", "cmd", "test"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, top), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.Contains(file, "/testdata/") {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			if strings.HasSuffix(file, "_test.go") {
				for _, match := range testFunction.FindAllSubmatch(text, -1) {
					tests[string(match[1])] = true
				}
			} else if top != "test" && err == nil {
				err = addCalls(calls, name, text)
			}
			return err
		}))
	}
	return calls, tests, err
}

// addCalls adds the positions of the boundaries in a file.
func addCalls(calls map[call][]string, name string, text []byte) error {
	set, imports := token.NewFileSet(), map[string]string{}
	syntax, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		return err
	}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imports[localName(spec, imported)] = strings.TrimPrefix(imported, "example.com/nginx-operator/")
	}
	configured := map[ast.Node]bool{}
	ast.Inspect(syntax, func(node ast.Node) bool {
		found := ""
		switch node := node.(type) {
		case *ast.CompositeLit:
			found = qualified(node.Type, imports) + "{}"
			configured[node.Type] = boundary.MatchString(found)
		case *ast.SelectorExpr:
			if !configured[node] {
				found = qualified(node, imports)
			}
		}
		if boundary.MatchString(found) {
			c := call{name, found}
			calls[c] = append(calls[c], set.Position(node.Pos()).String())
		}
		return true
	})
	return nil
}

var version = regexp.MustCompile(`/v\d+$`)

// localName returns the name of an import in its file.
func localName(spec *ast.ImportSpec, imported string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(version.ReplaceAllString(imported, ""))
}

// qualified returns the import path and the name of an expression such as json.Unmarshal. The path is empty if the name is not
// of an import: the parser resolves local variables.
func qualified(expression ast.Expr, imports map[string]string) string {
	selector, ok := expression.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if id, ok := selector.X.(*ast.Ident); ok && id.Obj == nil {
		return imports[id.Name] + "." + selector.Sel.Name
	}
	return "." + selector.Sel.Name
}
