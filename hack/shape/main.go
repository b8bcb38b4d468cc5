// Command shape measures the structure of the Go code below folders, without tests and generated
// code: lines, packages, files, functions, methods, and dependencies between the packages of internal/.
// Usage: go run ./hack/shape [-C DIR] internal cmd
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shape contains the measurements.
type shape struct {
	dir, module string
	packages    map[string]bool
	files       []int
	functions   []int
	methods     map[string]int
	exported    int
	imports     imports
}

func main() {
	dir := flag.String("C", ".", "root of the repository")
	flag.Parse()
	s, err := measure(*dir, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	s.print()
}

// measure measures the code below folders of the module in dir.
func measure(dir string, folders []string) (*shape, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	s := &shape{dir: dir, module: modulePath(string(mod)), packages: map[string]bool{}, methods: map[string]int{}, imports: imports{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return s.add(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// modulePath returns the module path of a go.mod file.
func modulePath(mod string) string {
	for line := range strings.Lines(mod) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// add adds a file.
func (s *shape) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	pkg, err := filepath.Rel(s.dir, filepath.Dir(path))
	if err != nil {
		return err
	}
	if inside, ok := strings.CutPrefix(filepath.ToSlash(pkg), "internal/"); ok {
		if err := s.imports.add(s.module, inside, file); err != nil {
			return err
		}
	}
	s.packages[pkg] = true
	s.files = append(s.files, strings.Count(string(text), "\n"))
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.functions = append(s.functions, set.Position(d.End()).Line-set.Position(d.Pos()).Line+1)
			if d.Name.IsExported() {
				s.exported++
			}
			if d.Recv != nil {
				s.methods[pkg+"."+receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			s.exported += exported(d)
		}
	}
	return nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return "?"
	}
}

func exported(d *ast.GenDecl) int {
	n := 0
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				n++
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					n++
				}
			}
		}
	}
	return n
}

func (s *shape) print() {
	lines := 0
	for _, n := range s.files {
		lines += n
	}
	largest := ""
	for name, n := range s.methods {
		if n > s.methods[largest] || n == s.methods[largest] && name < largest {
			largest = name
		}
	}
	upward, unknown := s.imports.upward()
	for _, row := range []struct {
		name  string
		value any
	}{
		{"lines", lines},
		{"packages", len(s.packages)},
		{"files", len(s.files)},
		{"median lines of a file", median(s.files)},
		{"lines of the longest file", slices.Max(s.files)},
		{"functions", len(s.functions)},
		{"median lines of a function", median(s.functions)},
		{"lines of the longest function", slices.Max(s.functions)},
		{"most methods of a type", fmt.Sprintf("%d (%s)", s.methods[largest], largest)},
		{"exported names", s.exported},
		{"dependencies that run upwards", counted(upward)},
		{"folders that import each other", counted(s.imports.mutual())},
		{"packages without a layer", counted(unknown)},
	} {
		fmt.Printf("%-30s %v\n", row.name, row.value)
	}
}

func median(all []int) int {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
