// Package confine prevents nginx and its child processes from opening files of the instance
// manager: the mounted Secrets, also those with values of variables, the requests, and the mounted configurations.
//
// All processes of a container have the same user and no capabilities, so file modes cannot separate
// them. Landlock can (https://docs.kernel.org/userspace-api/landlock.html): a process gives up rights
// for itself and for its children. It can only list what stays allowed, so everything except the
// hidden paths is listed, as high in the tree as possible.
//
// Only reading and writing files is restricted. Listing folders, creating and removing files are not.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Hide takes the right to read and write files below the paths from the calling thread, which has to be
// locked and to execute another program. On a kernel without Landlock it hides nothing, because
// nginx must start there, too.
func Hide(paths []string) { hide(paths, writable) }

func hide(paths []string, writable func(dir string) bool) {
	if Supported() != nil {
		return
	}
	granted, err := allowed(os.DirFS("/"), paths, writable)
	if err == nil {
		err = restrict(granted)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nginx-instance: nginx can read the files of the instance manager: %v\n", err)
	}
}

func writable(dir string) bool { return syscall.Access("/"+dir, 2) == nil }

// allowed returns the files and folders that have to be allowed so that only the hidden paths are
// forbidden. Paths are relative to the root, as in io/fs.
//
// A folder that contains a hidden path is allowed by its entries, so a file that appears in it later
// is forbidden. If this can happen (a mounted ConfigMap, or a writable folder that is not the parent
// of a hidden path), the whole folder is allowed.
func allowed(root fs.FS, hidden []string, writable func(dir string) bool) ([]string, error) {
	w := walk{root: root, writable: writable}
	for _, path := range hidden {
		w.hidden = append(w.hidden, strings.Trim(path, "/"))
	}
	err := w.folder("")
	return w.granted, err
}

type walk struct {
	root     fs.FS
	hidden   []string
	writable func(string) bool
	granted  []string
}

func (w *walk) folder(dir string) error {
	entries, err := fs.ReadDir(w.root, ioFSPath(dir))
	if err != nil {
		return fmt.Errorf("list /%s: %w", dir, err)
	}
	for _, entry := range entries {
		path := strings.TrimPrefix(dir+"/"+entry.Name(), "/")
		switch {
		case entry.Type()&fs.ModeSymlink != 0: // The target has a path of its own.
		case slices.Contains(w.hidden, path):
		case w.leads(path) && !w.mayGainEntries(path):
			if err := w.folder(path); err != nil {
				return err
			}
		default:
			w.granted = append(w.granted, path)
		}
	}
	return nil
}

// ioFSPath returns the io/fs name of a folder.
func ioFSPath(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// leads reports whether a hidden path is below dir.
func (w *walk) leads(dir string) bool {
	return slices.ContainsFunc(w.hidden, func(path string) bool { return strings.HasPrefix(path, dir+"/") })
}

// mayGainEntries reports whether entries may appear in dir while nginx runs.
func (w *walk) mayGainEntries(dir string) bool {
	// This is the kubelet's link to the current version of a ConfigMap or Secret.
	if _, err := fs.Stat(w.root, dir+"/..data"); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	parent := slices.ContainsFunc(w.hidden, func(path string) bool { return path[:max(0, strings.LastIndex(path, "/"))] == dir })
	return !parent && w.writable(dir)
}
