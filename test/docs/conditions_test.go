package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conditionsPage is the reference of conditions, reasons and events.
const conditionsPage = root + "/docs/conditions.md"

// TestConditionsPage: the page has exactly the types and reasons of conditions that the API packages define. A reason may
// be shown as one of an event only.
func TestConditionsPage(t *testing.T) {
	page := readPage(t)
	for _, api := range []struct {
		folder   string
		sections []string
	}{
		{"api/v1alpha2", []string{"NginxOperator"}},
		{"api/backup/v1alpha1", []string{"NginxBackupPolicy", "NginxBackup", "NginxRestore"}},
	} {
		constants := constantsOf(t, api.folder)
		compare(t, api.folder+": types", withPrefix(constants, "Condition"), page.headings(api.sections))
		shown := page.names(conditionRow, api.sections)
		compare(t, api.folder+": reasons", without(withPrefix(constants, "Reason"), page.names(eventRow, api.sections), shown), shown)
	}
}

// TestEventsOnPage: the page has every event that is not only a reason of a condition, and no other.
func TestEventsOnPage(t *testing.T) {
	page := readPage(t)
	reasons := constantsOf(t, "api/v1alpha2")
	events := withPrefix(constantsOf(t, "internal/nginx/status"), "Event")
	shown := page.names(eventRow, []string{"NginxOperator"})
	// An event of a reason of a condition may be shown.
	compare(t, "events of an NginxOperator", events, without(shown, withPrefix(reasons, "Reason"), events))

	backup := withPrefix(constantsOf(t, "api/backup/v1alpha1"), "Reason")
	events = withPrefix(constantsOf(t, "internal/backup/outcome"), "Event")
	shown = page.names(eventRow, []string{"NginxBackupPolicy", "NginxBackup", "NginxRestore"})
	compare(t, "events of backups", events, without(shown, backup, events))
}

func TestDocument(t *testing.T) {
	page := parseDocument("## NginxOperator\n### `Ready`\n| True | `Ready` | `Other` |\n| False, Unknown | `Failed` | x |\n" +
		"## NginxBackup\n### `Completed`\n| Normal, Warning | `Left`, `Gone` | `Other` |\n| Warning | the reason | x |\n")
	for name, c := range map[string]struct{ got, want []string }{
		"types":              {page.headings([]string{"NginxOperator"}), []string{"Ready"}},
		"reasons":            {page.names(conditionRow, []string{"NginxOperator"}), []string{"Failed", "Ready"}},
		"events":             {page.names(eventRow, []string{"NginxBackup"}), []string{"Gone", "Left"}},
		"events in no table": {page.names(eventRow, []string{"NginxOperator"}), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// document maps the headings of the second level to the lines below them.
type document map[string][]string

func readPage(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile(conditionsPage)
	if err != nil {
		t.Fatal(err)
	}
	return parseDocument(string(text))
}

func parseDocument(text string) document {
	d, section := document{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		if heading, is := strings.CutPrefix(line, "## "); is {
			section = heading
			continue
		}
		d[section] = append(d[section], line)
	}
	return d
}

var (
	typeHeading  = regexp.MustCompile("^### `(\\w+)`$")
	conditionRow = regexp.MustCompile(`^\| (?:True|False|Unknown)[^|]*\|([^|]*)\|`)
	eventRow     = regexp.MustCompile(`^\| (?:Normal|Warning)[^|]*\|([^|]*)\|`)
	code         = regexp.MustCompile("`(\\w+)`")
)

// headings returns the condition types of sections.
func (d document) headings(sections []string) []string {
	found := map[string]bool{}
	for _, s := range sections {
		for _, line := range d[s] {
			if m := typeHeading.FindStringSubmatch(line); m != nil {
				found[m[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// names returns the names in the second column of the rows of sections.
func (d document) names(row *regexp.Regexp, sections []string) []string {
	found := map[string]bool{}
	for _, s := range sections {
		for _, line := range d[s] {
			if m := row.FindStringSubmatch(line); m != nil {
				for _, name := range code.FindAllStringSubmatch(m[1], -1) {
					found[name[1]] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// constantsOf returns the exported string constants of a package. The value of a constant that is another package's is
// that one's name without its prefix.
func constantsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	constants := map[string]string{}
	inFiles(t, root+"/"+folder, func(file *ast.File) {
		for _, declaration := range file.Decls {
			group, is := declaration.(*ast.GenDecl)
			if !is || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				for i, value := range spec.(*ast.ValueSpec).Values {
					constants[spec.(*ast.ValueSpec).Names[i].Name] = valueOf(t, value)
				}
			}
		}
	})
	return constants
}

func valueOf(t *testing.T, expression ast.Expr) string {
	t.Helper()
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	case *ast.SelectorExpr:
		return strings.TrimPrefix(e.Sel.Name, "Reason")
	}
	return ""
}

// inFiles calls visit with each Go file of a folder that is not a test.
func inFiles(t *testing.T, folder string, visit func(*ast.File)) {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		visit(file)
	}
}

func withPrefix(constants map[string]string, prefix string) []string {
	values := map[string]bool{}
	for name, value := range constants {
		if strings.HasPrefix(name, prefix) && value != "" {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// without returns names except those of a list, unless they are in keep.
func without(names, list, keep []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(list, name) && !slices.Contains(keep, name)
	})
}

func compare(t *testing.T, what string, defined, shown []string) {
	t.Helper()
	if len(defined) == 0 {
		t.Errorf("%s: the code defines none", what)
	}
	if diff := cmp.Diff(defined, shown); diff != "" {
		t.Errorf("%s: - in the code only, + in %s only:\n%s", what, conditionsPage, diff)
	}
}
