package purge

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// position returns what other shards see of a pod.
func position(t testing.TB, dir string) string {
	t.Helper()
	return fmt.Sprintf("begun %s, done %s", follow(t, dir, linkBegun), follow(t, dir, linkDone))
}

// TestPosition: a pod shows what it has begun and what it has done, also after everything was purged and after a restart.
func TestPosition(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := func(when, want string) {
		t.Helper()
		if got := position(t, dir); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	want("new", "begun 0, done 0")
	apply(t, s, 4, object(5, "/a"))
	want("an object was purged", "begun 5, done 5")
	apply(t, s, 4, object(5, "/a"), instanceapi.Purge{Number: 6, All: true}, object(7, "/b"))
	want("everything was purged, and another object", "begun 7, done 7")
	if err := s.Drop(time.UnixMilli(1e12)); err != nil {
		t.Fatal(err)
	}
	want("dropped", "begun 7, done 7")
	open(t, dir)
	want("after a restart", "begun 7, done 7")
	if left, err := os.ReadDir(filepath.Join(dir, positions)); err != nil || len(left) != 1 {
		t.Errorf("%d numbers are left (%v), want 1", len(left), err)
	}
}

// TestPositionOfAFailure: a purge that could not be carried out has begun and is not done. Carried out later, it is both.
func TestPositionOfAFailure(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, 4, object(5, "/a"))
	blocked := filepath.Join(dir, "tree", "h", "b")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), instanceapi.Purges{Since: 4, List: []instanceapi.Purge{object(6, "/b/c")}}); err == nil {
		t.Fatal("the purge was carried out")
	}
	if got := position(t, dir); got != "begun 6, done 5" {
		t.Errorf("after a failure: %s", got)
	}
	s = open(t, dir)
	if got := position(t, dir); got != "begun 6, done 5" {
		t.Errorf("after a restart: %s", got)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	apply(t, s, 4, object(6, "/b/c"))
	if got := position(t, dir); got != "begun 6, done 6" {
		t.Errorf("after it was carried out: %s", got)
	}
}

// TestPositionOfAnOlderFolder: a volume from before the links has them as soon as it is opened, and so has one whose pod
// has ended between the two steps of the end of a purge.
func TestPositionOfAnOlderFolder(t *testing.T) {
	dir := t.TempDir()
	apply(t, open(t, dir), 4, object(5, "/a"))
	for _, name := range []string{linkBegun, linkDone, positions} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	if got := position(t, dir); got != "begun 5, done 5" {
		t.Error(got)
	}
	if err := os.WriteFile(filepath.Join(dir, fileNumber), []byte("6"), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if got := position(t, dir); got != "begun 6, done 6" {
		t.Error(got)
	}
}
