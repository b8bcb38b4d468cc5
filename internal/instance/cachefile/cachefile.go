// Package cachefile reads and changes the files in which nginx stores the objects of a cache. Their format is in
// src/http/ngx_http_cache.h of nginx: it has been the same since 1.11.10, for machines of 64 bits.
package cachefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// version is that of the format, and invalid that of a file which Invalidate has made useless.
const (
	version = 5
	invalid = 0
)

// The offsets of the fields, in bytes.
const (
	offsetVersion     = 0
	offsetValid       = 8
	offsetHeaderStart = 54
	offsetBodyStart   = 56
	offsetKey         = 336
)

// Head is how much of a file is read at first, in bytes: usually all that comes before the body.
const Head = 4 << 10

// Errors of Read.
var (
	// ErrVersion means that the file has another format.
	ErrVersion = errors.New("the file has a format that is not known")
	// ErrDamaged means that it is not a whole file of a cache.
	ErrDamaged = errors.New("the file is damaged")
)

// Object is what is stored in a file, without its body. It is valid until the buffer is used again.
type Object struct {
	// Key is the value of proxy_cache_key.
	Key []byte
	// Valid is the end of its freshness.
	Valid time.Time
	// header is the header of the answer, as it was received.
	header []byte
}

// Read reads the beginning of a file. The buffer is at least Head bytes long; Read returns it, or a longer one.
func Read(file io.ReaderAt, buffer []byte) (Object, []byte, error) {
	n, err := file.ReadAt(buffer[:Head], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Object{}, buffer, err
	}
	if n < offsetKey {
		return Object{}, buffer, ErrDamaged
	}
	switch binary.LittleEndian.Uint64(buffer[offsetVersion:]) {
	case version:
	case invalid:
		return Object{}, buffer, ErrDamaged
	default:
		return Object{}, buffer, ErrVersion
	}
	headerStart, bodyStart := int(binary.LittleEndian.Uint16(buffer[offsetHeaderStart:])), int(binary.LittleEndian.Uint16(buffer[offsetBodyStart:]))
	if bodyStart > n && n == Head {
		if bodyStart > len(buffer) {
			buffer = make([]byte, bodyStart)
		}
		if n, err = file.ReadAt(buffer[:bodyStart], 0); err != nil && !errors.Is(err, io.EOF) {
			return Object{}, buffer, err
		}
	}
	object, err := parse(buffer[:n], headerStart, bodyStart)
	object.Valid = time.Unix(int64(binary.LittleEndian.Uint64(buffer[offsetValid:])), 0) //nolint:gosec // it is signed there
	return object, buffer, err
}

// parse parses what comes before the body.
func parse(head []byte, headerStart, bodyStart int) (Object, error) {
	if headerStart > bodyStart || bodyStart > len(head) || headerStart < offsetKey {
		return Object{}, ErrDamaged
	}
	key, ok := bytes.CutPrefix(head[offsetKey:headerStart], []byte("\nKEY: "))
	if !ok || !bytes.HasSuffix(key, []byte("\n")) {
		return Object{}, ErrDamaged
	}
	return Object{Key: key[:len(key)-1], header: head[headerStart:bodyStart]}, nil
}

var nameTag = []byte("cache-tag")

// Has reports whether the answer has a header. name is written as nginx writes it.
func (o *Object) Has(name string) bool {
	return bytes.Contains(o.header, []byte("\n"+name+": "))
}

// HasTag reports whether is returns true for one of the tags in the headers Cache-Tag.
func (o *Object) HasTag(is func(tag []byte) bool) bool {
	for line := range bytes.SplitSeq(o.header, []byte("\n")) {
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !bytes.EqualFold(name, nameTag) {
			continue
		}
		for tag := range bytes.SplitSeq(value, []byte(",")) {
			if is(bytes.TrimSpace(tag)) {
				return true
			}
		}
	}
	return false
}

// MakeStale ends the freshness of an object a second before now.
func MakeStale(file io.WriterAt, now time.Time) error {
	return write(file, offsetValid, uint64(now.Unix()-1)) //nolint:gosec // a time after 1970
}

// Invalidate makes nginx ignore a file that it is still writing.
func Invalidate(file io.WriterAt) error { return write(file, offsetVersion, invalid) }

func write(file io.WriterAt, offset int64, value uint64) error {
	_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, value), offset)
	return err
}
