package cachevolume

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileSince is the file on the volume with the time at which an instance began to fill it.
const fileSince = "since"

// begin finds out since when the volume has been filled: since now, if it has no objects.
func (v *Volume) begin() {
	path := filepath.Join(v.dir, fileSince)
	if v.hasObjects() {
		text, err := os.ReadFile(path) //nolint:gosec // in the folder of the cache
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			slog.Warn("cannot read since when the volume of the cache has been filled", "error", err)
		}
		// The volume may have been filled by a release that did not write the time.
		if since, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err == nil {
			v.since = since
		}
		return
	}
	v.since = v.now().UTC().Truncate(time.Second)
	slog.Info("the volume of the cache is empty", "folder", v.dir)
	if err := os.WriteFile(path, []byte(v.since.Format(time.RFC3339)+"\n"), 0o600); err != nil {
		// After the next start, the time is not known.
		slog.Warn("cannot note since when the volume of the cache has been filled", "error", err)
	}
}

func (v *Volume) hasObjects() bool {
	for _, folder := range v.folders() {
		if len(names(folder)) > 0 {
			return true
		}
	}
	return false
}
