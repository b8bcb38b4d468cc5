package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"path"
	"slices"
	"time"
)

// entry is a file, or a folder if its content is nil.
type entry struct {
	mode    int64
	content []byte
}

// tree is the content of a tar, by path.
type tree map[string]entry

// add adds a file and its parent folders.
func (t tree) add(name string, mode int64, content []byte) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		t[dir] = entry{mode: 0o755}
	}
	t[name] = entry{mode, content}
}

// tar packs the tree sorted by path, so that folders come before their content.
func (t tree) tar(date time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		e := t[name]
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: e.mode, Size: int64(len(e.content)), ModTime: date, Format: tar.FormatUSTAR}
		if e.content == nil {
			header.Typeflag, header.Name = tar.TypeDir, name+"/"
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

func gzipped(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}
