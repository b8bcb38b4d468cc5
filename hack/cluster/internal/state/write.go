package state

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file atomically: readers see either the old or the new content.
func ReplaceFile(path string, content []byte, mode os.FileMode) error {
	return WriteFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFile is ReplaceFile for content that is written in parts.
func WriteFile(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	if err = errors.Join(write(temporary), temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
