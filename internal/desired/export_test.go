package desired

import (
	"bytes"
	"maps"
	"testing"
)

// ChangeManifest lets a test play a release whose manifest has another text in the place of
// old.
func ChangeManifest(t *testing.T, manifest, old, text string) {
	t.Helper()
	original := manifestJSON
	all, err := original()
	if err != nil {
		t.Fatal(err)
	}
	changed := maps.Clone(all)
	changed[manifest] = bytes.Replace(all[manifest], []byte(old), []byte(text), 1)
	if bytes.Equal(changed[manifest], all[manifest]) {
		t.Fatalf("%s has no %s", manifest, old)
	}
	manifestJSON = func() (map[string][]byte, error) { return changed, nil }
	t.Cleanup(func() { manifestJSON = original })
}
