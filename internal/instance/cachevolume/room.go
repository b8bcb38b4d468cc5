package cachevolume

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

// The time between two checks, and while the volume is almost full. nginx aborts an answer that it cannot store, also
// towards the client, so it has to stop storing before the volume is full.
const (
	checkPause = 250 * time.Millisecond
	soonPause  = 50 * time.Millisecond
)

// nginx stores nothing while less than minRoom, or a fiftieth of the volume if that is less, is free. It stores again when
// twice as much is. Before that, it removes old objects: cacheconf lets it keep a twentieth free.
const (
	minRoom     = 256 << 20
	minRoomPart = 50
	// almost is how many times the minimum is free when the volume is almost full.
	almost = 4
)

// fileSystem is the state of a file system.
type fileSystem struct {
	// size and free are in bytes.
	size, free float64
	// files and freeFiles are how many it can have; 0 if that is not limited.
	files, freeFiles float64
	readOnly         bool
}

func fileSystemOf(dir string) (fileSystem, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fileSystem{}, err
	}
	block := float64(cmp.Or(fs.Frsize, fs.Bsize))
	return fileSystem{
		size: float64(fs.Blocks) * block, free: float64(fs.Bavail) * block,
		files: float64(fs.Files), freeFiles: float64(fs.Ffree),
		readOnly: fs.Flags&unix.ST_RDONLY != 0,
	}, nil
}

// full reports whether less than times the minimum is free.
func (fs *fileSystem) full(times float64) bool {
	return fs.free < times*min(minRoom, fs.size/minRoomPart) || fs.files > 0 && fs.freeFiles < times*fs.files/minRoomPart
}

// check lets nginx store objects, or keeps it from that. It returns when to check again.
func (v *Volume) check() time.Duration {
	fs, err := v.statfs(v.dir)
	v.mu.Lock()
	before := v.problem
	v.mu.Unlock()
	if problem := v.findProblem(fs, err, before != ""); problem != before || (problem != "") != exists(v.closed) {
		v.setProblem(problem)
	}
	if err == nil && fs.full(almost) {
		return soonPause
	}
	return checkPause
}

// setProblem tells nginx whether to store objects.
func (v *Volume) setProblem(problem string) {
	failed := v.setClosed(problem != "")
	if failed != nil && v.failed == nil {
		slog.Error("cannot tell nginx whether to store objects", "error", failed)
	}
	if v.failed = failed; failed != nil {
		return
	}
	if problem != "" {
		slog.Warn("the volume of the cache takes no objects any more", "problem", problem)
	} else {
		slog.Info("the volume of the cache takes objects again")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.problem = problem
}

// findProblem returns why nothing can be stored; empty if it can.
func (v *Volume) findProblem(fs fileSystem, err error, closed bool) string {
	times := 1.0
	if closed {
		times = 2
	}
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error()
	case fs.readOnly:
		return "it is read-only"
	case fs.full(times):
		return "it is full"
	}
	// nginx creates the folder of the objects when it starts.
	for _, dir := range []string{v.dir, filepath.Join(v.dir, instanceapi.DirObjects)} {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "it cannot be written: " + err.Error()
		}
	}
	return ""
}

func (v *Volume) setClosed(closed bool) error {
	if closed {
		return os.WriteFile(v.closed, nil, 0o644) //nolint:gosec // nginx's workers look for it
	}
	err := os.Remove(v.closed)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
