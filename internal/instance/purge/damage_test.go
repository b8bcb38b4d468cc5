package purge

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// damagesOfFolder are what other programs may do with the folder.
var damagesOfFolder = map[string]func(dir string) error{
	"a file in its place": func(dir string) error {
		return errorsOf(os.RemoveAll(dir), os.WriteFile(dir, []byte("garbage"), 0o600))
	},
	"it is gone":             os.RemoveAll,
	"no generation":          func(dir string) error { return os.Remove(filepath.Join(dir, linkAll)) },
	"a lost tree":            func(dir string) error { return os.RemoveAll(filepath.Join(dir, tree)) },
	"a lost link":            func(dir string) error { return os.Remove(filepath.Join(dir, tree, "a.test", "a", linkObject)) },
	"a file instead of link": func(dir string) error { return replaceByFile(filepath.Join(dir, tree, "a.test", "a", linkObject)) },
	"lost generations":       func(dir string) error { return os.RemoveAll(filepath.Join(dir, generations)) },
	"a lost number":          func(dir string) error { return replaceByFile(filepath.Join(dir, fileNumber)) },
}

// TestVerify: damage is noticed, before a shard hands over what was purged.
func TestVerify(t *testing.T) {
	for name, damage := range damagesOfFolder {
		t.Run(name, func(t *testing.T) {
			dir, keeper := damagedFolder(t)
			if err := errorsOf(keeper.Verify(), damage(dir)); err != nil {
				t.Fatal(err)
			}
			if keeper.Verify() == nil {
				t.Error("the damage is not noticed")
			}
		})
	}
}

// TestDamage: whatever is wrong with the folder, it is replaced, and nothing has a generation that it had before.
func TestDamage(t *testing.T) {
	purges := instanceapi.Purges{Since: 5, List: []instanceapi.Purge{
		{Number: 7, Targets: []instanceapi.Target{{Host: "a.test", Path: "/a"}, {Host: "a.test", Path: "/b/", Below: true}}},
	}}
	for name, damage := range damagesOfFolder {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "purged")
			open := func(p instanceapi.Purges) *instanceapi.Purged {
				mounted := t.TempDir()
				text, err := p.Text()
				if err := errorsOf(err, os.WriteFile(filepath.Join(mounted, instanceapi.FilePurges), text, 0o600)); err != nil {
					t.Fatal(err)
				}
				keeper, err := NewKeeper(dir, mounted, Objects{})
				if err := errorsOf(err, keeper.CatchUp(t.Context())); err != nil {
					t.Fatal(err)
				}
				return keeper.Report()
			}
			open(purges)
			before := generation(t, dir)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			if got := open(purges); got.Number != 7 || got.Error != "" {
				t.Errorf("it reports %+v", got)
			}
			for _, link := range []string{"a.test/a/" + linkObject, "a.test/b/" + linkBelow} {
				if _, err := os.Stat(filepath.Join(dir, tree, link)); err != nil {
					t.Error(err)
				}
			}
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			// The purge is no longer listed, because all pods have carried it out.
			if open(instanceapi.Purges{Since: 7}); generation(t, dir) == before {
				t.Error("what was purged is found again")
			}
		})
	}
}

// TestDamageWhileServing: a store that is damaged while nginx serves is replaced, and nothing has a generation that it had
// before.
func TestDamageWhileServing(t *testing.T) {
	for name, damage := range damagesOfFolder {
		t.Run(name, func(t *testing.T) {
			dir, keeper := damagedFolder(t)
			before := generation(t, dir)
			if err := errorsOf(keeper.repair(t.Context(), false, true)); err != nil || generation(t, dir) != before {
				t.Errorf("without damage, it is replaced (%v)", err)
			}
			if err := errorsOf(damage(dir), keeper.repair(t.Context(), false, true)); err != nil {
				t.Fatal(err)
			}
			if after := generation(t, dir); after == before {
				t.Errorf("everything has the generation %s again", after)
			}
			if got := keeper.Report(); got.Number != 7 || got.Error != "" {
				t.Errorf("it reports %+v", got)
			}
		})
	}
}

// TestAppliedIsOver: when purges have been carried out, nothing holds up the next check of the store. The
// race detector makes the order of goroutines random: without it, this rarely fails.
func TestAppliedIsOver(t *testing.T) {
	_, keeper := damagedFolder(t)
	for range 10_000 {
		if err := keeper.Apply(t.Context(), instanceapi.Purges{}); err != nil {
			t.Fatal(err)
		}
		if len(keeper.applying) != 0 {
			t.Fatal("the keeper is still applying purges after it said that it has")
		}
	}
}

// damagedFolder returns a folder to damage, in which two objects were purged.
func damagedFolder(t *testing.T) (dir string, keeper *Keeper) {
	t.Helper()
	dir, mounted := filepath.Join(t.TempDir(), "purged"), t.TempDir()
	text := `{"since":5,"purges":[{"number":7,"targets":[{"host":"a.test","path":"/a"},{"host":"a.test","path":"/b/","below":true}]}]}`
	if err := os.WriteFile(filepath.Join(mounted, instanceapi.FilePurges), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keeper, err := NewKeeper(dir, mounted, Objects{})
	if err := errorsOf(err, keeper.CatchUp(t.Context())); err != nil {
		t.Fatal(err)
	}
	return dir, keeper
}

// TestOpenWritesNothing: a volume that is full or read-only can be opened again.
func TestOpenWritesNothing(t *testing.T) {
	dir := t.TempDir()
	apply(t, open(t, dir), 0, object(3, "/a"), instanceapi.Purge{Number: 4, Soft: true, All: true})
	before := listing(t, dir)
	open(t, dir)
	if after := listing(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// listing returns all entries of a folder, with their times.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		fmt.Fprintf(&all, "%s %v\n", path, info.ModTime())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// generation returns where the link of everything leads to.
func generation(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(filepath.Join(dir, linkAll))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func replaceByFile(path string) error {
	return errorsOf(os.Remove(path), os.WriteFile(path, []byte("garbage"), 0o600))
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
