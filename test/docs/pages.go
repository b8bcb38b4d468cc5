package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// root is the folder of the repository, where the pages' commands run.
const root = "../.."

// pages returns the paths of all documents.
func pages() ([]string, error) {
	found := []string{
		root + "/README.md", root + "/CONTRIBUTING.md", root + "/SECURITY.md", root + "/hack/cluster/README.md",
	}
	err := filepath.WalkDir(root+"/docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// nameOf returns a name for a page that is valid in names of tests and namespaces.
func nameOf(page string) string {
	path := strings.TrimSuffix(strings.TrimPrefix(page, root+"/"), ".md")
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(path, "docs/"), "/", "-"))
}

// declaration is that of a Go test.
var declaration = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// goTests maps the Go tests of the repository to the folders that have a test of that name.
func goTests() (map[string][]string, error) {
	tests := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && name != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+"/"))
			tests[string(found[1])] = append(tests[string(found[1])], folder)
		}
		return nil
	})
	return tests, err
}

// mention is where a page names a Go test, or with "…" a group of tests. The folder is optional.
var mention = regexp.MustCompile("\\b(Test[A-Z]\\w*)(…)?`?(?: (?:of|in) `?((?:test|internal)/[\\w/]+))?")

// unknownTests returns what a text says about Go tests that do not exist.
func unknownTests(text string, tests map[string][]string) []string {
	var unknown []string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		name, group, folder := m[1], m[2] != "", m[3]
		if !exists(name, group, folder, tests) {
			unknown = append(unknown, strings.TrimSpace(fmt.Sprintf("%s %s", name, folder)))
		}
	}
	return unknown
}

func exists(name string, group bool, folder string, tests map[string][]string) bool {
	for test, folders := range tests {
		if test != name && (!group || !strings.HasPrefix(test, name)) {
			continue
		}
		if folder == "" || slices.Contains(folders, folder) {
			return true
		}
	}
	return false
}
