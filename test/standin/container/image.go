package container

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoImages means that a directory has no image archives.
var ErrNoImages = errors.New("`make images` makes them")

// Images unpacks the archives nginx-NAME.tar in folder, which `cluster image nginx` creates, and
// returns the paths of the root file systems by name.
func Images(folder, dir string) (map[string]string, error) {
	archives, err := filepath.Glob(filepath.Join(folder, "nginx-*.tar"))
	if err != nil {
		return nil, err
	}
	if len(archives) == 0 {
		return nil, fmt.Errorf("no images of nginx in %s: %w", folder, ErrNoImages)
	}
	roots := map[string]string{}
	for _, archive := range archives {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "nginx-"), ".tar")
		roots[name] = filepath.Join(dir, name)
		if err := unpack(archive, roots[name]); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", archive, err)
		}
	}
	return roots, nil
}

// unpack unpacks the image in an archive of `docker save` with uncompressed layers.
func unpack(archive, root string) error {
	var manifest []struct{ Layers []string }
	err := readTar(archive, func(header *tar.Header, content io.Reader) error {
		if header.Name != "manifest.json" {
			return nil
		}
		return json.NewDecoder(content).Decode(&manifest)
	})
	if err != nil || len(manifest) != 1 {
		return fmt.Errorf("find the layers: %w", err)
	}
	for _, layer := range manifest[0].Layers {
		err := readTar(archive, func(header *tar.Header, content io.Reader) error {
			if header.Name != layer {
				return nil
			}
			return eachEntry(content, func(header *tar.Header, content io.Reader) error { return extract(root, header, content) })
		})
		if err != nil {
			return err
		}
	}
	return Complete(root)
}

// Complete adds to a root file system what every container has. An otherwise empty directory
// becomes the root file system of an empty image.
func Complete(root string) error {
	for _, dir := range []string{"etc", "proc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	// The kubelet also creates this file in every container.
	return os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), 0o644)
}

func readTar(path string, visit func(*tar.Header, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	return eachEntry(file, visit)
}

func eachEntry(from io.Reader, visit func(*tar.Header, io.Reader) error) error {
	reader := tar.NewReader(from)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(header, reader)
		}
		if err != nil {
			return err
		}
	}
}

func extract(root string, header *tar.Header, content io.Reader) error {
	path := filepath.Join(root, header.Name)
	mode := os.FileMode(header.Mode).Perm()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, mode)
	case tar.TypeSymlink:
		return os.Symlink(header.Linkname, path)
	case tar.TypeLink:
		return os.Link(filepath.Join(root, header.Linkname), path)
	case tar.TypeChar:
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(uint32(header.Devmajor), uint32(header.Devminor)))); err != nil {
			return err
		}
		return os.Chmod(path, 0o666)
	case tar.TypeReg:
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	default:
		return nil
	}
}
