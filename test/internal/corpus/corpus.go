// Package corpus has what the tests of the corpora of configurations share.
package corpus

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of the API: spec.config.files has that many files of that many characters.
const (
	maxFiles      = 64
	maxCharacters = 262144
)

// CheckFiles looks whether an API server would take the files of a configuration.
func CheckFiles(t *testing.T, files map[string]string) {
	t.Helper()
	if len(files) == 0 || len(files) > maxFiles {
		t.Errorf("there are %d files", len(files))
	}
	for name, text := range files {
		if problems := validation.IsConfigMapKey(name); len(problems) > 0 {
			t.Errorf("%q is no key of a ConfigMap: %v", name, problems)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8", name)
		}
		if n := utf8.RuneCountInString(text); n > maxCharacters {
			t.Errorf("%s has %d characters", name, n)
		}
		if strings.Contains(text, "¶") {
			t.Errorf("%s has a mark left", name)
		}
	}
}
