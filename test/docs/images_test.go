package docs

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImages: each row of the table of images names a test, and each of these tests is in a row.
func TestImages(t *testing.T) {
	names := func(file, pattern string) (found []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
		return found
	}
	const page, tests = "../../docs/images.md", "../instance/images_test.go"
	documented := names(page, "(?m)^\\|.*\\| `(TestImage\\w+)` \\|$")
	declared := names(tests, `(?m)^func (TestImage\w+)\(`)
	slices.Sort(declared)
	if diff := cmp.Diff(declared, slices.Sorted(slices.Values(documented))); diff != "" {
		t.Errorf("the tests of %s (-) and the rows of %s (+) differ:\n%s", tests, page, diff)
	}
	section := names(page, `(?s)## Known images\n(.*?)\nFor example`)[0]
	if rows := regexp.MustCompile(`(?m)^\| [^|]* \|.*$`).FindAllString(section, -1); len(rows)-1 != len(documented) {
		t.Errorf("%s has %d images, and %d of them name a test", page, len(rows)-1, len(documented))
	}
}
