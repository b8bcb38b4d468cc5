package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"unicode"
)

// finding is a name that contains a term which the glossary does not allow.
type finding struct{ position, name, term string }

// notUsed returns the table below "## Words not used": each term with its replacement.
func notUsed(glossary string) (map[string]string, error) {
	_, table, found := strings.Cut(glossary, "## Words not used\n")
	if !found {
		return nil, fmt.Errorf("the glossary has no section %q", "Words not used")
	}
	terms := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.HasPrefix(strings.TrimSpace(cells[0]), "-") {
			continue
		}
		for term := range strings.SplitSeq(cells[0], ",") {
			terms[strings.TrimSpace(term)] = strings.TrimSpace(cells[1])
		}
	}
	delete(terms, "not used")
	if len(terms) == 0 {
		return nil, fmt.Errorf("the glossary's table of words not used is empty")
	}
	return terms, nil
}

// checkedNames are the extensions of the files whose names are checked.
var checkedNames = map[string]bool{".go": true, ".sh": true, ".yaml": true, ".yml": true}

// check returns the findings in the name of a file and, if it contains Go, in the identifiers that it declares.
func check(root, file string, terms map[string]string) ([]finding, error) {
	extension := filepath.Ext(file)
	if !checkedNames[extension] {
		return nil, nil
	}
	var found []finding
	base := filepath.Base(file)
	for _, term := range split(strings.TrimSuffix(base, extension)) {
		if terms[term] != "" {
			found = append(found, finding{file, base, term})
		}
	}
	if extension != ".go" {
		return found, nil
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(syntax) {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, id := range declared(syntax) {
		if seen[id.Name] {
			continue
		}
		seen[id.Name] = true
		for _, term := range split(id.Name) {
			if terms[term] != "" {
				position := set.Position(id.Pos())
				found = append(found, finding{fmt.Sprintf("%s:%d:%d", file, position.Line, position.Column), id.Name, term})
			}
		}
	}
	return found, nil
}

// declared returns the identifiers that a file declares. Those that it only uses are declared in another file, or
// in another module, which has its own terms.
func declared(file *ast.File) []*ast.Ident {
	ids := []*ast.Ident{file.Name}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			ids = append(ids, node.Name)
		case *ast.TypeSpec:
			ids = append(ids, node.Name)
		case *ast.ValueSpec:
			ids = append(ids, node.Names...)
		case *ast.Field:
			ids = append(ids, node.Names...)
		case *ast.ImportSpec:
			if node.Name != nil {
				ids = append(ids, node.Name)
			}
		case *ast.LabeledStmt:
			ids = append(ids, node.Label)
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				ids = append(ids, identifiers(node.Lhs...)...)
			}
		case *ast.RangeStmt:
			if node.Tok == token.DEFINE {
				ids = append(ids, identifiers(node.Key, node.Value)...)
			}
		}
		return true
	})
	return ids
}

// identifiers returns the expressions that are identifiers.
func identifiers(expressions ...ast.Expr) []*ast.Ident {
	var ids []*ast.Ident
	for _, e := range expressions {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// split returns the parts of an identifier or a file name, in lower case: HTTPServer_test is http, server, test.
func split(name string) []string {
	var parts []string
	runes := []rune(name)
	start := 0
	end := func(i int) {
		if i > start {
			parts = append(parts, strings.ToLower(string(runes[start:i])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
			start = i
		}
	}
	end(len(runes))
	return parts
}
