package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"time"
)

const block = 512

// padding is what follows a file in a tar up to the next block.
func padding(size int64) int { return int(-size & (block - 1)) }

// latest is the last second of the year 9999.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// modified is a time as a tar has it without extensions. A web server's dates and entity
// tags are of seconds, too.
func modified(t time.Time) time.Time {
	switch {
	case t.Unix() < 0:
		return time.Unix(0, 0)
	case t.After(latest):
		return latest
	}
	return time.Unix(t.Unix(), 0)
}

// header is an entry's in the tar.
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

// entry is what a header of a tar says, if it says nothing that this format has not.
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
		return e, fmt.Errorf("it has a link's target, and is no link")
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
	return fmt.Sprintf("of the tar's type %q, which this format has not", flag)
}

// plain refuses whatever a tar can have apart from what Writer writes.
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

// texts are the fields of a header's block that end at a NUL, and what is unused.
var texts = [][2]int{{0, 100}, {157, 257}, {265, 297}, {297, 329}, {345, 500}, {500, 512}}

// checkBlock refuses what readers of a tar skip: text after a NUL. Another reader could
// take it for part of a name.
func checkBlock(header []byte) error {
	for _, field := range texts {
		text := header[field[0]:field[1]]
		if end := bytes.IndexByte(text, 0); end >= 0 && len(bytes.Trim(text[end:], "\x00")) > 0 {
			return fmt.Errorf("its header has text after a NUL: %s", clip(string(bytes.TrimRight(text, "\x00"))))
		}
	}
	return nil
}
