// Command boundaries compares the table of trust boundaries in docs/security.md with the listeners and decoders in the code.
//
// The table names packages. calls.txt lists each call in them, so that a second decoder in a package of the table is found as
// well: whoever adds its line has to check that a row has its bounds.
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

const (
	tablePath = "docs/security.md"
	callsPath = "hack/boundaries/calls.txt"
)

func main() {
	found, err := check(".")
	for _, f := range found {
		fmt.Fprintln(os.Stderr, f)
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d differences between the table %q of %s, %s and the code", len(found), heading, tablePath, callsPath)
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
	listed, err := os.ReadFile(filepath.Join(root, callsPath))
	if err != nil {
		return nil, err
	}
	return append(compare(rows, calls, known), compareListed(string(listed), calls)...), nil
}

// compareListed returns the differences between the listed calls and those in the code.
func compareListed(text string, calls map[call][]string) (found []string) {
	listed := strings.Split(strings.TrimSpace(text), "\n")
	lines := map[string]string{}
	for c, positions := range calls {
		lines[fmt.Sprintf("%s %s %d", c.file, c.function, len(positions))] = strings.Join(positions, ", ")
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if !slices.Contains(listed, line) {
			found = append(found, fmt.Sprintf("%s: %s has no line %q: check that a row of %s bounds it, with its test, and add the line", lines[line], callsPath, line, tablePath))
		}
	}
	for _, line := range listed {
		if _, known := lines[line]; !known && line != "" {
			found = append(found, fmt.Sprintf("%s: the line %q is of no call any more: remove it", callsPath, line))
		}
	}
	return found
}

// compare returns the differences between the rows, the packages with calls, and the names of the tests.
func compare(rows []row, calls map[call][]string, tests map[string]bool) (found []string) {
	packages := byPackage(calls)
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, r := range rows {
		if len(r.tests) == 0 || len(r.code) == 0 {
			report("row %q: name a test and a package, each in backquotes", r.what)
		}
		for _, name := range r.code {
			if packages[name] == "" {
				report("row %q: %s has no listener, decoder or cache any more: remove it from the row", r.what, name)
			}
		}
		for _, name := range r.tests {
			if !tests[name] {
				report("row %q: no _test.go file has func %s: name the test that attacks this boundary", r.what, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if !slices.ContainsFunc(rows, func(r row) bool { return slices.Contains(r.code, name) }) {
			report("%s: no row names %s: bound it, and add it with its numbers and its test", packages[name], name)
		}
	}
	return found
}

// byPackage returns a call in each package, with its position.
func byPackage(calls map[call][]string) map[string]string {
	packages := map[string]string{}
	for c, positions := range calls {
		if first := positions[0] + ": " + c.function; packages[c.dir()] == "" || first < packages[c.dir()] {
			packages[c.dir()] = first
		}
	}
	return packages
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
