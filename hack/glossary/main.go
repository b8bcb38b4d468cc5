// Command glossary finds words in identifiers and file names that docs/glossary.md does not allow.
package main

import (
	"errors"
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

// run checks every Go file of the module in root.
func run(root string) error {
	text, err := os.ReadFile(filepath.Join(root, glossaryPath))
	if err != nil {
		return err
	}
	words, err := notUsed(string(text))
	if err != nil {
		return err
	}
	var all []finding
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skip(root, path)
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		found, err := check(path, words)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range all {
		fmt.Fprintf(os.Stderr, "%s: %s contains %q; use: %s\n", f.position, f.name, f.word, words[f.word])
	}
	if len(all) > 0 {
		return fmt.Errorf("%d names contain words that %s does not allow", len(all), glossaryPath)
	}
	return nil
}

// skip skips hidden folders, testdata, and nested modules.
func skip(root, path string) error {
	if path == root {
		return nil
	}
	if strings.HasPrefix(filepath.Base(path), ".") || filepath.Base(path) == "testdata" {
		return filepath.SkipDir
	}
	switch _, err := os.Stat(filepath.Join(path, "go.mod")); {
	case err == nil:
		return filepath.SkipDir
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
