package nginxconf

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// FuzzNew: an accepted configuration is within its bounds, and its revision depends only on its
// content. A rejected one gives a short error of one line. The input contains names and texts in
// turn, separated by NUL.
func FuzzNew(f *testing.F) {
	f.Add("site.conf\x00server {}\x00page.html\x00<p>")
	f.Add("a.conf\x00\x00b.conf\x00\x85")
	f.Add("nginx-operator\nx.conf\x00server {}")
	f.Add("..\x1b[31m" + strings.Repeat("x", 500) + "\x00")
	f.Fuzz(func(t *testing.T, text string) {
		files := split(text)
		config, err := New(files)
		if err != nil {
			if message := err.Error(); len(message) > 1200 || strings.ContainsFunc(message, unicode.IsControl) {
				t.Errorf("the refusal repeats what is hostile: %.1300q", message)
			}
			return
		}
		if diff := cmp.Diff(files, config.Files); diff != "" {
			t.Errorf("the files are others:\n%s", diff)
		}
		checkBounds(t, config)
		checkRevision(t, config)
	})
}

func split(text string) Files {
	parts, files := strings.Split(text, "\x00"), Files{}
	for i := 0; i+1 < len(parts); i += 2 {
		files[parts[i]] = parts[i+1]
	}
	return files
}

func checkBounds(t *testing.T, config Config) {
	t.Helper()
	total := 0
	for name, text := range config.Files {
		total += len(name) + len(text)
		if !legalName.MatchString(name) || len(name) > 253 || strings.HasPrefix(name, ReservedPrefix) {
			t.Errorf("there is a file %q", name)
		}
	}
	if len(config.Files) > maxFiles || total > MaxTotalBytes {
		t.Errorf("it has %d files of %d bytes", len(config.Files), total)
	}
}

// checkRevision checks that the order in which files are added does not matter, and that moving a
// byte from a text to its name changes the revision.
func checkRevision(t *testing.T, config Config) {
	t.Helper()
	names := slices.Sorted(maps.Keys(config.Files))
	again := Files{}
	for _, name := range slices.Backward(names) {
		again[name] = config.Files[name]
	}
	if Revision(again) != config.Revision || len(config.Revision) != 16 {
		t.Errorf("the revision is %q, and of the same files %q", config.Revision, Revision(again))
	}
	for _, name := range names {
		moved := maps.Clone(config.Files)
		delete(moved, name)
		if text := config.Files[name]; text != "" {
			moved[name+text[:1]] = text[1:]
		}
		if Revision(moved) == config.Revision {
			t.Errorf("other files than %q have the same revision", names)
		}
	}
}
