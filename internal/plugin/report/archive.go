package report

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"time"
)

// archive is a compressed archive that is being written.
type archive struct {
	compressed *gzip.Writer
	tar        *tar.Writer
	// root is the folder of all files.
	root string
	now  time.Time
}

func newArchive(w io.Writer, root string, now time.Time) *archive {
	compressed := gzip.NewWriter(w)
	return &archive{compressed: compressed, tar: tar.NewWriter(compressed), root: root, now: now}
}

// add adds a file.
func (a *archive) add(name string, content []byte) error {
	header := &tar.Header{Name: path.Join(a.root, name), Mode: 0o600, Size: int64(len(content)), ModTime: a.now, Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := a.tar.Write(content)
	return err
}

func (a *archive) close() error { return errors.Join(a.tar.Close(), a.compressed.Close()) }
