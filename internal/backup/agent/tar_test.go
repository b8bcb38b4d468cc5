package agent

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

// untar reads a file of an archive without the package that wrote it.
func untar(path, name string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	in := tar.NewReader(zip)
	for {
		header, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		if header.Name == name {
			return io.ReadAll(in)
		}
	}
}
