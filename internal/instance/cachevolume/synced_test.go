package cachevolume

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestUnsynced: after another run of the kernel, the objects are gone that were stored after the last sync.
func TestUnsynced(t *testing.T) {
	boot := filepath.Join(t.TempDir(), "boot_id")
	before := bootIDFile
	bootIDFile = boot
	t.Cleanup(func() { bootIDFile = before })
	runs := func(id string) {
		if err := os.WriteFile(boot, []byte(id+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		change  func(dir string)
		nextRun string
		want    int64
	}{
		"the same run":       {func(string) {}, "first", 2},
		"another run":        {func(string) {}, "second", 1},
		"a file without end": {func(dir string) { _ = os.WriteFile(filepath.Join(dir, fileSynced), []byte("first 20"), 0o600) }, "second", 0},
		"no file":            {func(dir string) { _ = os.Remove(filepath.Join(dir, fileSynced)) }, "second", 2},
	} {
		t.Run(name, func(t *testing.T) {
			runs("first")
			dir, clock := t.TempDir(), now
			v := watched(dir, func() time.Time { return clock })
			store(t, dir, 1, time.Hour)
			v.sync()
			store(t, dir, 2, 0)
			tt.change(dir)
			runs(tt.nextRun)
			next := watched(dir, func() time.Time { return clock })
			if err := next.removeUnsynced(t.Context()); err != nil {
				t.Fatal(err)
			}
			next.measure()
			if got := next.Report().Objects; got != tt.want {
				t.Errorf("there are %d objects, want %d", got, tt.want)
			}
		})
	}
}
