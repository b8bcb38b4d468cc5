package orders

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// publish changes a mounted folder as the kubelet does: one link is switched to a new folder.
func publish(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	folder, link := filepath.Join(dir, version), filepath.Join(dir, "..data")
	errs := []error{os.Mkdir(folder, 0o700)}
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	errs = append(errs, os.Symlink(version, link+"_tmp"), os.Rename(link+"_tmp", link))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestTrustFile: a pod follows its trust file, and trusts nobody while the file is missing or cannot be parsed.
func TestTrustFile(t *testing.T) {
	text, err := trusted.Text()
	if err != nil {
		t.Fatal(err)
	}
	without := instanceapi.Trust{Application: trusted.Application}
	keyless, err := without.Text()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := NewTrustFile(dir)
	if diff := cmp.Diff(instanceapi.Trust{}, file.Trust()); diff != "" {
		t.Errorf("nothing is mounted: -want +got:\n%s", diff)
	}
	for _, step := range []struct {
		version string
		files   map[string]string
		want    instanceapi.Trust
	}{
		{"..1", map[string]string{instanceapi.FileTrust: text, "site.conf": "server {}"}, trusted},
		{"..2", map[string]string{instanceapi.FileTrust: keyless}, without},
		{"..3", map[string]string{"site.conf": "server {}"}, instanceapi.Trust{}},
		{"..4", map[string]string{instanceapi.FileTrust: text}, trusted},
		{"..5", map[string]string{instanceapi.FileTrust: text[:len(text)/2]}, instanceapi.Trust{}},
		{"..6", map[string]string{instanceapi.FileTrust: text}, trusted},
	} {
		publish(t, dir, step.version, step.files)
		for range 2 {
			if diff := cmp.Diff(step.want, file.Trust()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", step.version, diff)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(instanceapi.Trust{}, file.Trust()); diff != "" {
		t.Errorf("nothing is mounted any more: -want +got:\n%s", diff)
	}
}

// TestUnreadableTrustFile: while a node cannot read the file, a pod trusts whom it trusted.
func TestUnreadableTrustFile(t *testing.T) {
	text, err := trusted.Text()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := NewTrustFile(dir)
	publish(t, dir, "..1", map[string]string{instanceapi.FileTrust: text})
	if diff := cmp.Diff(trusted, file.Trust()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	// A folder in the place of the file cannot be read, like a file on a node that is out of descriptors.
	publish(t, dir, "..2", nil)
	path := filepath.Join(dir, "..2", instanceapi.FileTrust)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trusted, file.Trust()); diff != "" {
		t.Errorf("it cannot be read for now: -want +got:\n%s", diff)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(instanceapi.Trust{}, file.Trust()); diff != "" {
		t.Errorf("it can be read again: -want +got:\n%s", diff)
	}
}
