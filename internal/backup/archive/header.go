package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"time"
)

const block = 512

// padding returns the number of bytes between the end of a file and the next block of a tar.
func padding(size int64) int { return int(-size & (block - 1)) }

// latest is the last second of the year 9999.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// modified returns a time that a tar can hold without extensions. The dates and entity tags of a
// web server have a resolution of seconds, too.
func modified(t time.Time) time.Time {
	switch {
	case t.Unix() < 0:
		return time.Unix(0, 0)
	case t.After(latest):
		return latest
	}
	return time.Unix(t.Unix(), 0)
}

// header returns the tar header of an entry.
func (e Entry) header(at time.Time) *tar.Header {
	h := &tar.Header{Name: e.Path, Typeflag: tar.TypeReg, Size: e.Size, Mode: int64(e.Mode), ModTime: modified(at)}
	switch e.Type {
	case Directory:
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
	case Link:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	case Regular:
	}
	return h
}

// entry returns the entry of a tar header. It returns an error if the header has anything that is
// not part of this format.
func entry(h *tar.Header) (Entry, error) {
	e := Entry{Path: h.Name, Size: h.Size, Mode: Mode(h.Mode)}
	switch h.Typeflag {
	case tar.TypeReg:
		e.Type = Regular
	case tar.TypeDir:
		e.Type = Directory
		name, slash := strings.CutSuffix(h.Name, "/")
		if !slash {
			return e, fmt.Errorf("it is a directory, and its path does not end in a slash")
		}
		e.Path = name
	case tar.TypeSymlink:
		e.Type, e.Target = Link, h.Linkname
	default:
		return e, fmt.Errorf("it is %s", kindOf(h.Typeflag))
	}
	if h.Mode < 0 || h.Mode&^int64(permissions) != 0 {
		return e, fmt.Errorf("its mode %04o has more than permission bits, such as setuid", h.Mode)
	}
	if e.Type != Link && h.Linkname != "" {
		return e, fmt.Errorf("it has a link target but is not a link")
	}
	return e, plain(h)
}

func kindOf(flag byte) string {
	switch flag {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a fifo"
	case tar.TypeXGlobalHeader:
		return "a global header"
	case tar.TypeGNUSparse:
		return "a sparse file"
	}
	return fmt.Sprintf("of the tar type %q, which this format does not have", flag)
}

// plain returns an error if a header has anything that Writer never writes.
func plain(h *tar.Header) error {
	if h.Format != tar.FormatUSTAR && h.Format != tar.FormatPAX {
		return fmt.Errorf("its header is neither ustar nor pax")
	}
	for key := range h.PAXRecords {
		if key != "path" && key != "linkpath" && key != "size" {
			return fmt.Errorf("its header has the extension %s", clip(key))
		}
	}
	if h.Uid|h.Gid != 0 || h.Uname+h.Gname != "" || h.Devmajor|h.Devminor != 0 {
		return fmt.Errorf("its header names an owner or a device")
	}
	if !h.ModTime.Equal(modified(h.ModTime)) {
		return fmt.Errorf("its time %d is not between 1970 and 9999", h.ModTime.Unix())
	}
	return nil
}

// texts are the fields of a header block that end at a NUL, and the unused fields.
var texts = [][2]int{{0, 100}, {157, 257}, {265, 297}, {297, 329}, {345, 500}, {500, 512}}

// checkBlock refuses text after a NUL. This package would skip it, but another reader could take it
// for part of a name.
func checkBlock(header []byte) error {
	for _, field := range texts {
		text := header[field[0]:field[1]]
		if end := bytes.IndexByte(text, 0); end >= 0 && len(bytes.Trim(text[end:], "\x00")) > 0 {
			return fmt.Errorf("its header has text after a NUL: %s", clip(string(bytes.TrimRight(text, "\x00"))))
		}
	}
	return nil
}
