package importset

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamples(t *testing.T) {
	for expression, want := range map[string][]string{
		`\.php$`:                        {".php"},
		`^/blog/(\d+)/?$`:               {"/blog/0/"},
		`\.(jpe?g|png|css)$`:            {".jpeg", ".png", ".css"},
		`^/(?<user>[a-z]{2,})/.*\.html`: {"/aa/x.html"},
		`^(www\.)?example\.(com|org)$`:  {"www.example.com", "www.example.org"},
		`[^/]+/x`:                       {"a/x"},
		`(?!not)x`:                      nil,
		``:                              {""},
	} {
		if diff := cmp.Diff(want, Samples(expression)); diff != "" {
			t.Errorf("Samples(%q) (-want +got):\n%s", expression, diff)
		}
	}
}

// TestSamplesMatch: a sample matches its expression, if Go knows that.
func TestSamplesMatch(t *testing.T) {
	for _, expression := range []string{`^/a(b|c)*d?$`, `(?i)\.(GIF|ico)$`, `^/[0-9]+/[^./]+\.txt$`, `^~?x|^/y`} {
		for _, sample := range Samples(expression) {
			if !regexp.MustCompile(expression).MatchString(sample) {
				t.Errorf("%q does not match %q", sample, expression)
			}
		}
	}
}
