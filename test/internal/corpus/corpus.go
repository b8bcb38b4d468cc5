// Package corpus holds what the tests of the configuration corpora share.
package corpus

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of the API: spec.config.files holds at most maxFiles files of at most maxCharacters
// characters each.
const (
	maxFiles      = 64
	maxCharacters = 262144
)

// CheckFiles fails the test if the API would not accept the files of a configuration, or if one
// still contains the mark ¶.
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
