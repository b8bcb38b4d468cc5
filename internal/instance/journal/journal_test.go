package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, dir string, want ...Entry) *Journal {
	t.Helper()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, j.CrashedLoads()); diff != "" {
		t.Error(diff)
	}
	return j
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestContainersThatEnd(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	must(t, first.MemoryShort())
	must(t, first.Begin("aaaaaaaa"))
	must(t, first.End())
	open(t, dir)
	must(t, first.Begin("bbbbbbbb"))
	must(t, first.MemoryShort())

	short := Entry{Revision: "bbbbbbbb", MemoryShort: true, Ends: 1}
	second := open(t, dir, short)
	// Another load does not remove the entry, whether it ends the container or not.
	must(t, second.Begin("cccccccc"))
	must(t, second.End())
	third := open(t, dir, short)
	must(t, third.Begin("cccccccc"))
	fourth := open(t, dir, short, Entry{Revision: "cccccccc", Ends: 1})
	must(t, fourth.Begin("bbbbbbbb"))
	fifth := open(t, dir, Entry{Revision: "cccccccc", Ends: 1}, Entry{Revision: "bbbbbbbb", Ends: 2})
	must(t, fifth.Forget("bbbbbbbb"))
	must(t, fifth.Forget("dddddddd"))
	open(t, dir, Entry{Revision: "cccccccc", Ends: 1})
}

func TestNonsense(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, file), []byte("{"), 0o600))
	open(t, dir)
}
