package purge

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// file returns the file of an object, as nginx writes it.
func file(key, tags string) []byte {
	key, header := "\nKEY: "+key+"\n", "HTTP/1.1 200 OK\r\nCache-Tag: "+tags+"\r\n\r\n"
	content := make([]byte, 336)
	content[0] = 5
	binary.LittleEndian.PutUint64(content[8:], uint64(time.Now().Add(time.Hour).Unix()))
	binary.LittleEndian.PutUint16(content[54:], uint16(336+len(key)))
	binary.LittleEndian.PutUint16(content[56:], uint16(336+len(key)+len(header)))
	return append(content, key+header+"body"...)
}

// put stores a file in the folder of a cache, and returns its path.
func put(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, "objects", name[31:32], name[29:31], name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func hash(n int) string { return fmt.Sprintf("%032x", n) }

// TestObjects: files of objects are replaced, those that nginx still writes become invalid, and others stay as they are.
func TestObjects(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	paths := map[string]string{
		"tagged":               put(t, dir, hash(1), file("k", "a")),
		"another tag":          put(t, dir, hash(2), file("k", "b")),
		"damaged":              put(t, dir, hash(3), []byte("damaged")),
		"unfinished":           put(t, dir, hash(4)+".0000000001", file("k", "a")),
		"just begun":           put(t, dir, hash(5)+".0000000002", nil),
		"unfinished, unwanted": put(t, dir, hash(6)+".0000000003", file("k", "b")),
	}
	apply(t, s, 0, instanceapi.Purge{Number: 1, Tags: []string{"a"}})
	for name, want := range map[string]string{
		"tagged": "link", "another tag": "kept", "damaged": "link", "unfinished": "invalid", "just begun": "kept", "unfinished, unwanted": "kept",
	} {
		info, err := os.Lstat(paths[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := "kept"
		if !info.Mode().IsRegular() {
			got = "link"
		} else if text, err := os.ReadFile(paths[name]); err == nil && len(text) > 336 && text[0] != 5 {
			got = "invalid"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := os.ReadFile(paths["tagged"]); !os.IsNotExist(err) {
		t.Errorf("the link leads to something: %v", err)
	}
	if got := lookup(t, dir, "/"); got != "0" || s.Number() != 1 {
		t.Errorf("the generation is %s, after purge %d", got, s.Number())
	}
}

// TestSoftInLastSecond: an object is made stale if nginx takes it as fresh, which it does until the second of its end is over.
func TestSoftInLastSecond(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	content := file("k", "a")
	for number := range int64(5) {
		now := time.Now()
		valid := uint64(now.Unix())
		binary.LittleEndian.PutUint64(content[8:], valid)
		path := put(t, dir, hash(1), content)
		apply(t, s, 0, instanceapi.Purge{Number: number + 1, Soft: true, Tags: []string{"a"}})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint64(text[8:]); got >= valid && time.Now().Unix() == now.Unix() {
			t.Errorf("at %s, the object is fresh until the end of %d", now, got)
		}
	}
}

// TestUnknownFormat: where objects cannot be searched, everything is purged.
// The clock of a node is put back by an hour, or forward, while the objects are searched.
func TestClockIsSet(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for set, want := range map[time.Duration]time.Time{
		0: began.Add(-clockError), time.Hour: began.Add(-clockError), -time.Hour: began.Add(-time.Hour - clockError),
	} {
		if got := changedSince(began, began.Add(3*time.Second+set), 3*time.Second); !got.Equal(want) {
			t.Errorf("clock set by %s: files may have changed since %s, want %s", set, got, want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, dir, hash(1), append([]byte{9}, make([]byte, 400)...))
	apply(t, s, 0, instanceapi.Purge{Number: 7, Tags: []string{"a"}})
	if got := lookup(t, dir, "/"); got != "7" {
		t.Errorf("the generation is %s", got)
	}
}

// TestEpoch: each search begins another epoch, and nginx always finds one.
func TestEpoch(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	seen := map[string]bool{follow(t, dir, linkEpoch): true}
	for number := range int64(3) {
		apply(t, s, 0, instanceapi.Purge{Number: number + 1, Soft: true, All: true})
		seen[follow(t, dir, linkEpoch)] = true
	}
	if len(seen) != 4 || seen[""] {
		t.Errorf("%v", seen)
	}
	apply(t, s, 0, object(4, "/a"), instanceapi.Purge{Number: 5, All: true})
	if !seen[follow(t, dir, linkEpoch)] {
		t.Error("a purge without a search begins an epoch")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, epochs)); err != nil || len(entries) > 2 {
		t.Errorf("%d epochs are left: %v", len(entries), err)
	}
}

// BenchmarkSearch searches 20,000 objects for a tag that a tenth of them has.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	const objects = 20_000
	for n := range objects {
		// Spread over all folders.
		put(b, dir, fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15), file("k", fmt.Sprintf("t%d,other", n%10)))
	}
	number := int64(0)
	for b.Loop() {
		number++
		apply(b, s, 0, instanceapi.Purge{Number: number, Soft: true, Tags: []string{"t1"}})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/objects, "µs/object")
}
