package container

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/volumes"
)

// TestPublish: the instance manager reads exactly the published files, and nothing remains of
// earlier ones.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	versions := map[string]bool{}
	for _, files := range []map[string]string{{}, {"a.conf": "one", "b.conf": ""}, {"b.conf": "two", "c": "\x00\xff"}, {}} {
		if err := Publish(dir, files); err != nil {
			t.Fatal(err)
		}
		got, err := volumes.Read(dir)
		if diff := cmp.Diff(files, got); diff != "" || err != nil {
			t.Errorf("error %v, -want +got:\n%s", err, diff)
		}
		if version := volumes.Version(dir); version == "" || versions[version] {
			t.Errorf("version %q was there before", version)
		} else {
			versions[version] = true
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != "..data" && !strings.HasPrefix(name, "..version-") || len(entries) != 2 {
			t.Errorf("%s is left of %d", name, len(entries))
		}
	}
}
