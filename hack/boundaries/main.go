// Command boundaries compares the table of trust boundaries in docs/security.md with the listeners and decoders in the code.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const tablePath = "docs/security.md"

func main() {
	found, err := check(".")
	for _, f := range found {
		fmt.Fprintln(os.Stderr, f)
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d differences between the table %q of %s and the code", len(found), heading, tablePath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns the differences between the table and the code of the repository in root.
func check(root string) (found []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, tablePath))
	if err != nil {
		return nil, err
	}
	rows, err := parse(string(text))
	if err != nil {
		return nil, err
	}
	calls, known, err := scan(root)
	if err != nil {
		return nil, err
	}
	return compare(rows, calls, known), nil
}

// compare returns the differences between the rows, the first call in each package, and the names of the tests.
func compare(rows []row, calls map[string]string, tests map[string]bool) (found []string) {
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, r := range rows {
		if len(r.tests) == 0 || len(r.code) == 0 {
			report("row %q: name a test and a package, each in backquotes", r.what)
		}
		for _, name := range r.code {
			if calls[name] == "" {
				report("row %q: %s has no listener, decoder or cache any more: remove it from the row", r.what, name)
			}
		}
		for _, name := range r.tests {
			if !tests[name] {
				report("row %q: no _test.go file has func %s: name the test that attacks this boundary", r.what, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if calls[name] != "" && !slices.ContainsFunc(rows, func(r row) bool { return slices.Contains(r.code, name) }) {
			report("%s: no row names %s: bound it, and add it with its numbers and its test", calls[name], name)
		}
	}
	return found
}

// heading begins the section with the table, and columns is the number of its columns. The last two are the test and the code.
const (
	heading = "## Boundaries"
	columns = 11
)

// row is a row of the table.
type row struct {
	what        string
	tests, code []string
}

// parse returns the rows of the table.
func parse(text string) (rows []row, err error) {
	_, section, _ := strings.Cut(text, "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch what := strings.TrimSpace(cells[0]); {
		case !strings.HasPrefix(line, "|"), what == "what", strings.HasPrefix(what, "---"):
		case len(cells) != columns:
			return nil, fmt.Errorf("%s: row %q has %d columns, want %d", tablePath, what, len(cells), columns)
		default:
			rows = append(rows, row{what, quoted(cells[columns-2]), quoted(cells[columns-1])})
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no section %q with a table", tablePath, heading)
	}
	return rows, nil
}

var quotes = regexp.MustCompile("`([^`]+)`")

// quoted returns what a cell has in backquotes.
func quoted(cell string) (all []string) {
	for _, match := range quotes.FindAllStringSubmatch(cell, -1) {
		all = append(all, match[1])
	}
	return all
}
