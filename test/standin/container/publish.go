package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Publish changes the directory of a volume as the kubelet does: it writes all files into a new
// directory and then switches one link.
func Publish(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	version, err := write(dir, files)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "..data")
	old, _ := os.Readlink(data) // there is none at first
	if err := errors.Join(os.Symlink(filepath.Base(version), data+"_tmp"), os.Rename(data+"_tmp", data)); err != nil {
		return err
	}
	if err := link(dir, files); err != nil || old == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// write creates a directory with the files.
func write(dir string, files map[string]string) (string, error) {
	version, err := os.MkdirTemp(dir, "..version-")
	if err != nil {
		return "", err
	}
	errs := []error{os.Chmod(version, 0o755)}
	for name, content := range files {
		errs = append(errs, os.WriteFile(filepath.Join(version, name), []byte(content), 0o644))
	}
	return version, errors.Join(errs...)
}

// link creates a link for each file and removes all other links.
func link(dir string, files map[string]string) error {
	for name := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", name), path); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, used := files[entry.Name()]; used || strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
