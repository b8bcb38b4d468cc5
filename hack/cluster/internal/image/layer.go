package image

import (
	"archive/tar"
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Entry is a file, folder or symbolic link of a layer.
type Entry struct {
	Header  tar.Header
	Content []byte
}

// File returns a regular file that belongs to root.
func File(mode int64, content []byte) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeReg, Mode: mode}, Content: content}
}

// Link returns a symbolic link.
func Link(target string) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: target}}
}

// DirEntry returns an empty folder with an owner.
func DirEntry(mode int64, uid int) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeDir, Mode: mode, Uid: uid, Gid: uid}}
}

// Layer contains the entries of an image, by path relative to its root.
type Layer map[string]Entry

// Add adds an entry and its parent folders.
func (l Layer) Add(name string, entry Entry) {
	name = cleanPath(name)
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := l[dir]; !ok {
			l[dir] = DirEntry(0o755, 0)
		}
	}
	l[name] = entry
}

// Tar renders the layer with all times at the epoch. Entries are sorted, so that folders come
// before their content. Hard links come last, after their targets.
func (l Layer) Tar() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	names := slices.Sorted(maps.Keys(l))
	slices.SortStableFunc(names, func(a, b string) int { return l.rank(a) - l.rank(b) })
	for _, name := range names {
		entry := l[name]
		header := entry.Header
		header.Name = name
		if header.Typeflag == tar.TypeDir {
			header.Name += "/"
		}
		header.Size = int64(len(entry.Content))
		header.ModTime, header.AccessTime, header.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
		header.Uname, header.Gname = "", ""
		header.PAXRecords, header.Format = nil, tar.FormatUnknown
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(entry.Content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func (l Layer) rank(name string) int {
	if l[name].Header.Typeflag == tar.TypeLink {
		return 1
	}
	return 0
}

// cleanPath returns a name in its normal form, without a leading dot or slash.
func cleanPath(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}
