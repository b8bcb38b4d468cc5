// Package tarfile reads the archives that commands write.
package tarfile

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
)

// Read returns the files of a compressed archive, without their common folder.
func Read(name string) (files map[string]string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	files = map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		_, path, _ := strings.Cut(header.Name, "/")
		files[path] = string(text)
	}
}
