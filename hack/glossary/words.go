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

// finding is a name that contains a word which the glossary does not allow.
type finding struct{ position, name, word string }

// notUsed returns the table below "## Words not used": each word with its replacement.
func notUsed(glossary string) (map[string]string, error) {
	_, table, found := strings.Cut(glossary, "## Words not used\n")
	if !found {
		return nil, fmt.Errorf("the glossary has no section %q", "Words not used")
	}
	words := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.HasPrefix(strings.TrimSpace(cells[0]), "-") {
			continue
		}
		for word := range strings.SplitSeq(cells[0], ",") {
			words[strings.TrimSpace(word)] = strings.TrimSpace(cells[1])
		}
	}
	delete(words, "not used")
	if len(words) == 0 {
		return nil, fmt.Errorf("the glossary's table of words not used is empty")
	}
	return words, nil
}

// check returns the findings in a Go file: in its name and in every identifier that it declares.
func check(path string, words map[string]string) ([]finding, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var found []finding
	name := strings.TrimSuffix(filepath.Base(path), ".go")
	for _, word := range split(name) {
		if words[word] != "" {
			found = append(found, finding{path, filepath.Base(path), word})
		}
	}
	seen := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		id, isIdentifier := node.(*ast.Ident)
		if !isIdentifier || seen[id.Name] {
			return true
		}
		seen[id.Name] = true
		for _, word := range split(id.Name) {
			if words[word] != "" {
				found = append(found, finding{files.Position(id.Pos()).String(), id.Name, word})
			}
		}
		return true
	})
	return found, nil
}

// split returns the words of an identifier or a file name, in lower case: HTTPServer_test is http, server, test.
func split(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	end := func(i int) {
		if i > start {
			words = append(words, strings.ToLower(string(runes[start:i])))
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
	return words
}
