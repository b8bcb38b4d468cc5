package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
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

// zip packs the files of the tree sorted by path.
func (t tree) zip(date time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range t.names() {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: date}
		header.SetMode(fs.FileMode(t[name].mode))
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(t[name].content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

// names returns the paths of the files, sorted.
func (t tree) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(name string) bool { return t[name].content == nil })
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
