package purge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Objects{Dir: filepath.Join(dir, "objects"), AwaitWorkers: func(context.Context) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func apply(t testing.TB, s *Store, since int64, purges ...instanceapi.Purge) {
	t.Helper()
	if err := s.Apply(t.Context(), instanceapi.Purges{Since: since, List: purges}); err != nil {
		t.Fatal(err)
	}
}

func object(number int64, path string) instanceapi.Purge {
	return instanceapi.Purge{Number: number, Targets: []instanceapi.Target{{Host: "h", Path: path}}}
}

// lookup returns the generations that nginx finds for an object.
func lookup(t testing.TB, dir, path string) string {
	t.Helper()
	found := []string{follow(t, dir, linkAll)}
	for _, link := range []string{"tree/h" + path + "/.object", "tree/h/.below", "tree/h/a/.below", "tree/h/a/b/.below"} {
		if g := follow(t, dir, link); g != "" {
			found = append(found, g)
		}
	}
	return strings.Join(found, " ")
}

// follow returns the generation that a link leads to; empty if there is no link.
func follow(t testing.TB, dir, link string) string {
	t.Helper()
	target, err := filepath.EvalSymlinks(filepath.Join(dir, link))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(filepath.Base(target), ".")
	return number
}

// TestApply: purges are carried out once, in their order, also after a restart.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := func(path, generations string) {
		t.Helper()
		if got := lookup(t, dir, path); got != generations {
			t.Errorf("%s has the generations %q, want %q", path, got, generations)
		}
	}
	want("/a", "0")
	apply(t, s, 0, object(3, "/a"), object(5, "/a/b"))
	want("/a", "0 3")
	want("/a/b", "0 5")
	want("/c", "0")
	s = open(t, dir)
	if s.Number() != 5 || s.links != 2 {
		t.Errorf("after a restart, the last is %d, and there are %d links", s.Number(), s.links)
	}
	apply(t, s, 0, object(3, "/c"), object(5, "/c"))
	want("/c", "0")
	apply(t, s, 0, object(3, "/c"), object(5, "/c"), object(6, "/a"), instanceapi.Purge{Number: 7, Targets: []instanceapi.Target{{Host: "h", Path: "/a/", Below: true}}})
	want("/a", "0 6 7")
	want("/a/b", "0 5 7")
	apply(t, s, 0, instanceapi.Purge{Number: 8, All: true}, object(9, "/a"))
	want("/a", "8 9")
	want("/a/b", "8")
	if entries, err := os.ReadDir(filepath.Join(dir, generations)); err != nil || len(entries) != 2 {
		t.Errorf("%d generations are left: %v", len(entries), err)
	}
}

// TestMissed: a pod that missed purges which are not listed any more drops everything.
func TestMissed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, 0, object(3, "/a"))
	apply(t, s, 3, object(5, "/a"))
	if got := lookup(t, dir, "/a"); got != "0 5" {
		t.Errorf("a pod that missed nothing has %q", got)
	}
	apply(t, s, 6, object(8, "/c"))
	if a, c := lookup(t, dir, "/a"), lookup(t, dir, "/c"); a != "6" || c != "6 8" {
		t.Errorf("a pod that missed a purge has %q and %q", a, c)
	}
	apply(t, s, 9)
	if got := lookup(t, dir, "/a"); got != "9" || s.Number() != 9 {
		t.Errorf("without a list it has %q, up to %d", got, s.Number())
	}
}

// TestManyFolders: an object in more folders than a link can lead back from is purged with the folder above.
func TestManyFolders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, 0, object(1, strings.Repeat("/a", maxFolders-1)), object(2, strings.Repeat("/b", 1400)))
	if got := lookup(t, dir, "/a"); got != "0" {
		t.Errorf("the generations of the folder at the top are %q", got)
	}
	if again := open(t, dir); again.links != 2 {
		t.Errorf("there are %d links", again.links)
	}
	// An earlier release made such links.
	if err := os.MkdirAll(filepath.Join(dir, tree, "h", strings.Repeat("/c", maxFolders)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Objects{}); !errors.Is(err, errDamaged) {
		t.Errorf("a deep tree: %v", err)
	}
}

// TestUnusedGenerations: an object that is purged again and again does not fill the volume with generations, nor does it lose the
// last one, or those of others.
func TestUnusedGenerations(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, 0, object(1, "/b"))
	var purges []instanceapi.Purge
	for number := range int64(maxLinks + 2) {
		purges = append(purges, object(number+2, "/a"))
	}
	apply(t, s, 1, purges...)
	last := s.Number()
	if again := open(t, dir).unused; s.unused <= maxLinks || again != s.unused {
		t.Errorf("%d generations are unused, and after a restart %d", s.unused, again)
	}
	apply(t, s, last, object(last+1, "/c"))
	if entries, err := os.ReadDir(filepath.Join(dir, generations)); err != nil || len(entries) != 4 {
		t.Errorf("after %d purges of three objects, there are %d generations: %v", last+1, len(entries), err)
	}
	for path, want := range map[string]string{"/a": fmt.Sprintf("0 %d", last), "/b": "0 1", "/c": fmt.Sprintf("0 %d", last+1)} {
		if got := lookup(t, dir, path); got != want {
			t.Errorf("%s has the generations %q, want %q", path, got, want)
		}
	}
}

// TestRepeated: an object that is purged again and again has one link.
func TestRepeated(t *testing.T) {
	s := open(t, t.TempDir())
	for number := range int64(5) {
		apply(t, s, 0, object(number+1, "/a"))
	}
	if s.links != 1 {
		t.Errorf("there are %d links", s.links)
	}
}

// TestManyLinks: the links are bounded.
func TestManyLinks(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.links = maxLinks
	apply(t, s, 0, object(3, "/a"))
	if got := lookup(t, dir, "/b"); got != "3" || s.links != 0 {
		t.Errorf("beyond the bound, another object has %q, and there are %d links", got, s.links)
	}
}

// TestUnreadableNumber: a damaged file is no error, and what is listed is carried out again.
func TestUnreadableNumber(t *testing.T) {
	dir := t.TempDir()
	apply(t, open(t, dir), 0, object(3, "/a"))
	if err := os.WriteFile(filepath.Join(dir, fileNumber), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	apply(t, s, 2, object(3, "/a"))
	if got := lookup(t, dir, "/a"); got != "2 3" || s.Number() != 3 {
		t.Errorf("it has %q", got)
	}
}

// TestInterrupted: what an earlier process left unfinished is replaced.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	folder := filepath.Join(dir, "tree/h/a")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(folder, unfinished)); err != nil {
		t.Fatal(err)
	}
	apply(t, s, 0, object(3, "/a"))
	if got := lookup(t, dir, "/a"); got != "0 3" {
		t.Errorf("it has %q", got)
	}
}

// TestPlace: where nginx would not find a link, more is purged rather than less.
func TestPlace(t *testing.T) {
	long := strings.Repeat("x", maxName+1)
	for _, tt := range []struct {
		target instanceapi.Target
		want   string
	}{
		{instanceapi.Target{Path: "/"}, "h/.object"},
		{instanceapi.Target{Path: "/a/b", Query: "?c=d/e"}, "h/a/b?c=d/e/.object"},
		{instanceapi.Target{Path: "/a/1/2/3/4/5/6/7"}, "h/a/1/2/3/4/5/6/7/.object"},
		{instanceapi.Target{Path: "/", Below: true}, "h/.below"},
		{instanceapi.Target{Path: "/a/b/", Below: true}, "h/a/b/.below"},
		{instanceapi.Target{Path: "/1/2/3/4/5/6/7/", Below: true}, "h/1/2/3/4/5/6/.below"},
		{instanceapi.Target{Path: "/a/" + long}, "h/a/.below"},
		{instanceapi.Target{Path: "/a", Query: "?" + long}, "h/.below"},
		{instanceapi.Target{Path: "/a/b", Query: "?x=/../../../y"}, "h/a/.below"},
		{instanceapi.Target{Path: "/a/b/", Query: "?u=/" + long}, "h/a/b/.below"},
		{instanceapi.Target{Path: "/a/b", Query: "?a=/.object"}, "h/a/.below"},
		{instanceapi.Target{Path: "/a/.object/b"}, "h/a/.below"},
		{instanceapi.Target{Path: "/1/2/3/4/5/6/7/" + long}, "h/1/2/3/4/5/6/.below"},
		{instanceapi.Target{Path: strings.Repeat("/a", maxFolders-1)}, "h" + strings.Repeat("/a", maxFolders-1) + "/.object"},
		{instanceapi.Target{Path: strings.Repeat("/a", maxFolders)}, "h/a/a/a/a/a/a/.below"},
		{instanceapi.Target{Host: ".below", Path: "/a"}, linkAll},
		{instanceapi.Target{Host: long, Path: "/a/", Below: true}, linkAll},
		{instanceapi.Target{Path: strings.Repeat("/"+strings.Repeat("x", 200), 20)}, "h" + strings.Repeat("/"+strings.Repeat("x", 200), 6) + "/.below"},
	} {
		if tt.target.Host == "" {
			tt.target.Host = "h"
		}
		folder, name := place(tt.target)
		if got := strings.Join(append(folder, name), "/"); got != tt.want {
			t.Errorf("%.100s: %.100s, want %.100s", fmt.Sprint(tt.target), got, tt.want)
		}
	}
}

// FuzzPlace: every target gets a link within the folder.
func FuzzPlace(f *testing.F) {
	for _, seed := range [][2]string{{"/a", "?b"}, {"/../x", ""}, {"/a/.below/", ""}, {"/", "?/../../"}, {"/.unfinished", ""}, {"/a", "?.object"}} {
		f.Add(seed[0], seed[1], false)
		f.Add(seed[0], "", true)
	}
	f.Fuzz(func(t *testing.T, path, query string, below bool) {
		target := instanceapi.Target{Host: "h", Path: path, Query: query, Below: below}
		if strings.ContainsRune(path+query, 0) {
			return
		}
		dir := t.TempDir()
		s := open(t, filepath.Join(dir, "in"))
		// Without Apply, which waits for the disk.
		for range 2 {
			folder, name := place(target)
			if _, err := s.link(folder, name, "1"); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%q: %v, %v", path+query, entries, err)
		}
	})
}

// BenchmarkApply purges an object of many.
func BenchmarkApply(b *testing.B) {
	s := open(b, b.TempDir())
	number := int64(0)
	for b.Loop() {
		number++
		apply(b, s, 0, object(number, fmt.Sprintf("/folder/%d", number%1000)))
	}
}
