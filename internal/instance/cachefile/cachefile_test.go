package cachefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// file is a file in memory.
type file []byte

func (f file) ReadAt(into []byte, at int64) (int, error) { return bytes.NewReader(f).ReadAt(into, at) }

func (f file) WriteAt(from []byte, at int64) (int, error) { return copy(f[at:], from), nil }

// newFile returns the file of an object. test/cache reads files that nginx has written.
func newFile(key, header, body string) file {
	head := make([]byte, offsetKey)
	key = "\nKEY: " + key + "\n"
	binary.LittleEndian.PutUint64(head[offsetVersion:], version)
	binary.LittleEndian.PutUint64(head[offsetValid:], 1000)
	binary.LittleEndian.PutUint16(head[offsetHeaderStart:], uint16(offsetKey+len(key)))
	binary.LittleEndian.PutUint16(head[offsetBodyStart:], uint16(offsetKey+len(key)+len(header)))
	return append(head, key+header+body...)
}

func (f file) read() (Object, error) {
	object, _, err := Read(f, make([]byte, Head))
	return object, err
}

func TestRead(t *testing.T) {
	for _, size := range []int{1, 4000, 30000} {
		f := newFile("g1 http://a/b", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", size)+"\r\nCACHE-TAG: a, b\r\n\r\n", "Cache-Tag: body")
		object, err := f.read()
		if err != nil || string(object.Key) != "g1 http://a/b" || object.Valid.Unix() != 1000 {
			t.Fatalf("with a header of %d bytes: %q %v: %v", size, object.Key, object.Valid, err)
		}
		var tags []string
		object.HasTag(func(tag []byte) bool {
			tags = append(tags, string(tag))
			return false
		})
		if fmt.Sprint(tags) != "[a b]" {
			t.Errorf("with a header of %d bytes, the tags are %q", size, tags)
		}
		if !object.HasTag(func(tag []byte) bool { return string(tag) == "b" }) {
			t.Error("the tag b is missing")
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := newFile("key", "HTTP/1.1 200 OK\r\n\r\n", "")
	other := append(file{}, good...)
	other[0] = 6
	noKey := append(file{}, good...)
	noKey[offsetKey+1] = 'k'
	for name, tt := range map[string]struct {
		file file
		want error
	}{
		"empty": {nil, ErrDamaged}, "short": {good[:offsetKey-1], ErrDamaged}, "cut": {good[:len(good)-1], ErrDamaged},
		"zeros": {make(file, 1000), ErrDamaged}, "another version": {other, ErrVersion}, "no key": {noKey, ErrDamaged},
	} {
		if _, err := tt.file.read(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestChanges(t *testing.T) {
	f := newFile("key", "HTTP/1.1 200 OK\r\n\r\n", "body")
	if err := MakeStale(f, time.Unix(500, 0)); err != nil {
		t.Fatal(err)
	}
	if object, err := f.read(); err != nil || object.Valid.Unix() != 499 || string(object.Key) != "key" {
		t.Errorf("stale: %+v, %v", object, err)
	}
	if err := Invalidate(f); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(); !errors.Is(err, ErrDamaged) {
		t.Errorf("invalid: %v", err)
	}
}

// FuzzRead: no content of a file does harm.
func FuzzRead(f *testing.F) {
	f.Add([]byte(newFile("key", "HTTP/1.1 200 OK\r\nCache-Tag: a\r\n\r\n", "body")))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, content []byte) {
		object, err := file(content).read()
		if err != nil {
			return
		}
		if !bytes.Contains(content, object.Key) || !bytes.Contains(content, object.header) {
			t.Errorf("%q is not in the file", object)
		}
		object.HasTag(func(tag []byte) bool { return bytes.Contains(tag, []byte(",")) })
	})
}
