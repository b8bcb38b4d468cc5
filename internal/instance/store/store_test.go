package store

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/nginx-operator/internal/nginx/nginxconf"
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

// TestLinks: the folders of all revisions link to the image's files of today, and share the inodes of the links.
func TestLinks(t *testing.T) {
	image, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(image, "mime.types"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var links []os.FileInfo
	for generation, change := range []func(*Store) error{
		func(*Store) error { return nil },
		func(*Store) error { return nil },
		// Without the shared links, each folder has its own.
		func(s *Store) error { return os.RemoveAll(s.links()) },
	} {
		s := &Store{dir: state, image: []string{image}}
		if generation == 0 {
			var err error
			if s, err = Open(state, image); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(s); err != nil {
			t.Fatal(err)
		}
		dir, err := s.Write("0123456789abcdef", int64(generation), map[string]string{"site.conf": ""})
		if err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, "mime.types")
		if to, err := os.Readlink(link); to != filepath.Join(image, "mime.types") {
			t.Errorf("generation %d links to %q (%v)", generation, to, err)
		}
		info, err := os.Lstat(link)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, info)
	}
	if !os.SameFile(links[0], links[1]) || os.SameFile(links[0], links[2]) {
		t.Error("the first two folders do not share the link, or the third one does")
	}
}

// TestSaveRevision: a revision is kept only if all its files were written, and can be saved again.
func TestSaveRevision(t *testing.T) {
	const revision = "0123456789abcdef"
	s, err := Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		revision string
		files    map[string]string
	}{
		{"../users", nil}, {"", nil}, {"0123456789ABCDEF", nil},
		{revision, map[string]string{"a.conf": "", "none/b.conf": ""}},
	} {
		if err := s.SaveRevision(bad.revision, bad.files); err == nil || s.Has(bad.revision) || len(s.Revisions()) > 0 {
			t.Errorf("%q is saved (%v): %v", bad.revision, err, s.Revisions())
		}
	}
	files := map[string]string{"a.conf": "server {}"}
	own := nginxconf.Revision(files)
	for range 2 {
		if err := s.SaveRevision(own, files); err != nil || !slices.Equal(s.Revisions(), []string{own}) {
			t.Errorf("kept %v (%v)", s.Revisions(), err)
		}
	}
	if got, err := s.Find(own); err != nil || !maps.Equal(got, files) {
		t.Errorf("files %v (%v)", got, err)
	}
}

// TestImageFolders: the files of the first folder of the image hide those of the second, and the configuration's own
// hide both.
func TestImageFolders(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, path := range []string{
		filepath.Join(first, "mime.types"), filepath.Join(first, "site.conf"), filepath.Join(first, nginxconf.WholeFile),
		filepath.Join(second, "mime.types"), filepath.Join(second, "site.conf"), filepath.Join(second, "fastcgi_params"),
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.TempDir(), first, second, filepath.Join(first, "missing"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := s.Write("0123456789abcdef", 1, map[string]string{"site.conf": ""})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got[entry.Name()], _ = os.Readlink(filepath.Join(dir, entry.Name())) // "" for a file that is no link
	}
	want := map[string]string{
		"site.conf": "", "mime.types": filepath.Join(first, "mime.types"), "fastcgi_params": filepath.Join(second, "fastcgi_params"),
	}
	if !maps.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}
