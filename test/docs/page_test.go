package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSteps(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []step
	}{
		"sh":              {"```sh\na\nb\n```", []step{{line: 2, text: "a\nb"}}},
		"console":         {"```console\n$ a\nout\n$ b \\\n  c\n```", []step{{line: 2, text: "a", output: []string{"out"}}, {line: 4, text: "b \\\n  c"}}},
		"in a list":       {"1. Check:\n\n   ```sh\n   a \\\n     b\n   ```\n2. …", []step{{line: 4, text: "a \\\n  b"}}},
		"in a list twice": {"- x\n  - y\n\n    ```console\n    $ a\n    out\n    ```", []step{{line: 5, text: "a", output: []string{"out"}}}},
		"hidden":          {"<!-- run\na\n-->\n```sh\nb\n```", []step{{line: 2, text: "a"}, {line: 5, text: "b"}}},
		"hidden, in a list": {
			"1. x\n\n   <!-- run\n   a\n   -->\n   ```sh\n   b\n   ```", []step{{line: 4, text: "   a"}, {line: 7, text: "b"}},
		},
		"not run":            {"<!-- not run: needs a bucket -->\n```sh\na\n```\n```sh\nb\n```", []step{{line: 6, text: "b"}}},
		"not run, in a list": {"1. x\n\n   <!-- not run: needs a bucket -->\n   ```sh\n   a\n   ```", nil},
		"other languages":    {"```yaml\n<!-- not run\n```\n\n```text\n```sh\n```", nil},
		"prose":              {"Commands begin with `$ `, or are in a block of `sh`.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := steps(strings.Split(c.page, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(step{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnreadBlocks: a block that would neither run nor has a reason is an error.
func TestUnreadBlocks(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"another name of the language": {"```bash\na\n```", "line 1: use the language sh or console"},
		"no language":                  {"x\n```\n$ a\n```", "line 3: a command in a block"},
		"in a quotation":               {"> ```sh\n> a\n> ```", "line 1: begin the block"},
		"after the mark of a list":     {"- ```sh\n  a\n  ```", "line 1: begin the block"},
		"without an end":               {"x\n```sh\na", "line 2: no ``` ends it"},
		"hidden, without an end":       {"<!-- run\na", "line 1: no --> ends it"},
		"not run, without a reason":    {"<!-- not run -->\n```sh\na\n```", "line 1: write the reason"},
		"a reason of two lines":        {"<!-- not run: needs\na bucket -->\n```sh\na\n```", "line 1: write the reason"},
		"a reason for nothing":         {"<!-- not run: needs a bucket -->\n\n```sh\na\n```", "line 1: `not run` without"},
		"a reason for YAML":            {"<!-- not run: needs a bucket -->\n```yaml\na: b\n```", "line 1: `not run` without"},
		"a reason at the end":          {"<!-- not run: needs a bucket -->", "line 1: `not run` at the end"},
		"output without a command":     {"```console\nout\n```", "line 2: output without"},
	} {
		t.Run(name, func(t *testing.T) {
			if found, err := steps(strings.Split(c.page, "\n")); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v and the error %v, want %q", found, err, c.want)
			}
		})
	}
}

// TestDocuments: every command of the documents runs or has a reason why it does not, none that runs is a measurement
// or a suite, and the Go tests that they name exist.
func TestDocuments(t *testing.T) {
	long := regexp.MustCompile(`(?m)^make (measure|bench|test)`)
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := goTests()
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range all {
		found, err := read(page)
		if err != nil {
			t.Error(err)
		}
		commands += len(found)
		for _, s := range found {
			if long.MatchString(s.text) {
				t.Errorf("%s:%d: takes too long to run with the page: write <!-- not run: REASON --> above it", page, s.line)
			}
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, unknown := range unknownTests(string(text), tests) {
			t.Errorf("%s names a test that does not exist: %s", page, unknown)
		}
	}
	if commands == 0 {
		t.Error("no page has a command")
	}
}

func TestUnknownTests(t *testing.T) {
	tests := map[string][]string{
		"TestReloadOn":         {"internal/nginx/podtemplate"},
		"TestReloadOnChange":   {"test/instance"},
		"TestReleasedHashes":   {"internal/nginx/desired"},
		"TestKilledWhileReady": {"test/api"},
	}
	for text, want := range map[string][]string{
		"`TestReleasedHashes` finds it":                                     nil,
		"<!-- not run: a minute; TestReloadOnChange of test/instance -->":   nil,
		"<!-- not run: a minute; TestReloadOn of test/e2e waits for it -->": {"TestReloadOn test/e2e"},
		"`TestListing` has it":                                              {"TestListing"},
		"`TestKilled…` kills it":                                            nil,
		"`TestKilled` kills it":                                             {"TestKilled"},
		"`TestReloadOnChange` in `test/api` does it":                        {"TestReloadOnChange test/api"},
	} {
		if diff := cmp.Diff(want, unknownTests(text, tests)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestNameOf(t *testing.T) {
	for page, want := range map[string]string{
		root + "/README.md":                "readme",
		root + "/docs/tutorial.md":         "tutorial",
		root + "/docs/runbooks/orphans.md": "runbooks-orphans",
		root + "/hack/cluster/README.md":   "hack-cluster-readme",
	} {
		if got := nameOf(page); got != want {
			t.Errorf("%s: got %s, want %s", page, got, want)
		}
	}
}
