package store

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOwns: a file that the folder of a revision links to is not the configuration's own.
func TestOwns(t *testing.T) {
	image, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"mime.types": "", "tls/shop/tls.key": "CANARY"} {
		path := filepath.Join(image, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(state, image)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := s.Write("0123456789abcdef", 1, map[string]string{"site.conf": "server {}"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Switch(dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		filepath.Join(dir, "site.conf"):                   true,
		filepath.Join(s.CurrentPath(), "site.conf"):       true,
		filepath.Join(dir, "mime.types"):                  false,
		filepath.Join(dir, "tls/shop/tls.key"):            false,
		dir + "/./tls/../tls/shop/tls.key":                false,
		filepath.Join(image, "tls/shop/tls.key"):          false,
		filepath.Join(dir, "nothing.conf"):                false,
		filepath.Join(s.userFilesDir(), "x", "site.conf"): false,
	} {
		if got := s.Owns(path); got != want {
			t.Errorf("Owns(%s) = %t, want %t", path, got, want)
		}
	}
}
