// Command glossary finds terms in identifiers and file names that docs/glossary.md does not allow.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const glossaryPath = "docs/glossary.md"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks the files of the repository in root, also those of nested modules.
func run(root string) error {
	text, err := os.ReadFile(filepath.Join(root, glossaryPath))
	if err != nil {
		return err
	}
	terms, err := notUsed(string(text))
	if err != nil {
		return err
	}
	files, err := sources(root)
	if err != nil {
		return err
	}
	var all []finding
	for _, file := range files {
		found, err := check(root, file, terms)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	for _, f := range all {
		fmt.Fprintf(os.Stderr, "%s: %s contains %q; use: %s\n", f.position, f.name, f.term, terms[f.term])
	}
	if len(all) > 0 {
		return fmt.Errorf("%d names contain terms that %s does not allow", len(all), glossaryPath)
	}
	return nil
}

// sources returns the paths of the files in root, relative to it, without those that make builds, those in hidden
// folders, and those in testdata, which have the names that the tests need.
func sources(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			files = append(files, file)
		case file == "bin" || file == "dist" || entry.Name() == "testdata",
			file != "." && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		return nil
	})
	return files, err
}
