package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Publish changes the folder of a volume as the kubelet does: a new folder with all of the files,
// and then one link is switched.
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

// write makes a folder with the files.
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

// link makes a link for each of the files, and removes those of others.
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
