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

// File is a regular file that belongs to root.
func File(mode int64, content []byte) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeReg, Mode: mode}, Content: content}
}

// Link is a symbolic link.
func Link(target string) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: target}}
}

// Folder is an empty folder of that owner.
func Folder(mode int64, uid int) Entry {
	return Entry{Header: tar.Header{Typeflag: tar.TypeDir, Mode: mode, Uid: uid, Gid: uid}}
}

// Layer is the content of an image by path, relative to its root.
type Layer map[string]Entry

// Add adds an entry and the folders above it.
func (l Layer) Add(name string, entry Entry) {
	name = clean(name)
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := l[dir]; !ok {
			l[dir] = Folder(0o755, 0)
		}
	}
	l[name] = entry
}

// Tar renders the layer: sorted, so folders come before what is in them, and
// dated to the beginning of time. Hard links come last, after what they name.
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

// clean is the form in which names are kept: no leading dot or slash.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}
