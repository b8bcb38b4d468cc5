package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
)

func noise(size int) string {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(text) // it never fails
	return string(text)
}

func unzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// fitting compresses a tar and updates a record to match it.
func fitting(t *testing.T, text []byte, commit *archive.Commit) []byte {
	t.Helper()
	text = checked(text)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	must.Succeed(t, err)
	must.Succeed(t, w.Close())
	digest := sha256.Sum256(out.Bytes())
	commit.Size, commit.SHA256 = int64(out.Len()), hex.EncodeToString(digest[:])
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if h.Name == "manifest.jsonl" {
			manifest, _ := io.ReadAll(r)
			digest := sha256.Sum256(manifest)
			commit.ManifestSHA256 = hex.EncodeToString(digest[:])
		}
	}
	return out.Bytes()
}

// checked returns a tar with correct checksums. Without them, readers would ignore everything that
// a fuzzer changes in a header.
func checked(text []byte) []byte {
	text = bytes.Clone(text)
	for b := range slices.Chunk(text, 512) {
		if len(b) < 512 || string(b[257:262]) != "ustar" {
			continue
		}
		copy(b[148:156], "        ")
		sum := 0
		for _, c := range b {
			sum += int(c)
		}
		copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return text
}

func staysInside(t *testing.T, text []byte, commit archive.Commit) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "volume"), 0o755))
	must.Succeed(t, os.Symlink("..", filepath.Join(dir, "volume", "a")))
	roots := map[int]*os.Root{}
	for _, v := range commit.Info.Content {
		roots[v.Index] = open(t, filepath.Join(dir, "volume"))
	}
	_, err := archive.ExtractContent(t.Context(), opener(text), commit, archive.DefaultLimits(), roots, archive.Overwrite)
	if _, ok := err.(*archive.ConflictError); err != nil && !ok && len(roots) < 2 { //nolint:errorlint // it is not wrapped
		t.Errorf("verified, and not restored: %v", err)
	}
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, "volume")))
	if diff := cmp.Diff(map[string]string{"./": ""}, list(t, dir)); diff != "" {
		t.Errorf("something was written outside of the volume:\n%s", diff)
	}
}

// large returns a volume of 256 MiB of sparse files, which take no room on the disk.
func large(t testing.TB) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		f, err := os.Create(filepath.Join(dir, name))
		must.Succeed(t, err)
		must.Succeed(t, f.Truncate(64<<20))
		must.Succeed(t, f.Close())
	}
	root, err := os.OpenRoot(dir)
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, root.Close()) })
	return root
}

func writeTo(t testing.TB, out io.Writer, root *os.Root) archive.Commit {
	t.Helper()
	spool, err := os.Create(filepath.Join(t.TempDir(), "manifest"))
	must.Succeed(t, err)
	defer spool.Close() //nolint:errcheck // a test's
	w, err := archive.NewWriter(t.Context(), out, info(0), spool, archive.DefaultLimits())
	must.Succeed(t, err)
	must.Succeed(t, w.Documents(documents()))
	must.Succeed(t, w.Content(0, root))
	summary, err := w.Close()
	must.Succeed(t, err)
	return archive.NewCommit("web.tar.gz", info(0), summary)
}

// mostMemory bounds the growth of the heap, in bytes, whatever the size of a volume.
const mostMemory = 16 << 20

func TestMemoryIsBounded(t *testing.T) {
	root := large(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "web.tar.gz"))
	must.Succeed(t, err)
	defer file.Close() //nolint:errcheck // a test's
	grown := growth(t, func() {
		commit := writeTo(t, file, root)
		for range 2 {
			_, err = file.Seek(0, io.SeekStart)
			must.Succeed(t, err)
			_, err = archive.CompareContent(t.Context(), file, commit, archive.DefaultLimits(), map[int]*os.Root{0: root})
			must.Succeed(t, err)
		}
	})
	t.Logf("the heap grew by %d KiB", grown>>10)
	if grown > mostMemory {
		t.Errorf("the heap grew by %d bytes, %d are possible", grown, mostMemory)
	}
}

// growth returns the growth of the heap while do runs. It samples the heap.
func growth(t *testing.T, do func()) int64 {
	t.Helper()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			time.Sleep(2 * time.Millisecond)
		}
	}()
	do()
	cancel()
	<-done
	return int64(most - before)
}

func BenchmarkWrite(b *testing.B) {
	root := large(b)
	b.SetBytes(256 << 20)
	b.ReportAllocs()
	for b.Loop() {
		writeTo(b, io.Discard, root)
	}
}

func BenchmarkVerify(b *testing.B) {
	var text bytes.Buffer
	commit := writeTo(b, &text, large(b))
	b.SetBytes(256 << 20)
	b.ReportAllocs()
	for b.Loop() {
		_, err := archive.Verify(b.Context(), bytes.NewReader(text.Bytes()), commit, archive.DefaultLimits())
		must.Succeed(b, err)
	}
}
