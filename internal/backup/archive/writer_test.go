package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
)

func newWriter(t testing.TB, out io.Writer, limits archive.Limits, indexes ...int) *archive.Writer {
	t.Helper()
	w, err := archive.NewWriter(t.Context(), out, info(indexes...), nil, limits)
	must.Succeed(t, err)
	return w
}

// TestSpecialFiles: files that an archive cannot hold are skipped, and hard links and files with
// special bits are kept as regular files.
func TestSpecialFiles(t *testing.T) {
	root := volume(t, map[string]string{"a": "a", "b/lost+found/x": "kept", "lost+found/x": "lost", ".nginx-operator-restore": "half"})
	dir := root.Name()
	must.Succeed(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must.Succeed(t, err)
	defer socket.Close() //nolint:errcheck // a test's
	must.Succeed(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "hard")))
	must.Succeed(t, os.Chmod(filepath.Join(dir, "a"), 0o755|os.ModeSetuid))
	text, commit := write(t, map[int]*os.Root{0: root})
	got, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	want := []archive.Skipped{
		{Path: "content/0/.nginx-operator-restore", Reason: "left by an interrupted restore"},
		{Path: "content/0/fifo", Reason: "fifo"},
		{Path: "content/0/lost+found", Reason: "folder of the file system"},
		{Path: "content/0/socket", Reason: "socket"},
	}
	if diff := cmp.Diff(want, got.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, listing := untar(t, text)
	for _, line := range []string{"0 0755 0:0 2026-11-21T12:00:00Z USTAR content/0/a \n", "content/0/hard \n", "content/0/b/lost+found/x \n"} {
		if !strings.Contains(listing, line) {
			t.Errorf("%q is not in\n%s", line, listing)
		}
	}
}

// TestLinksOut: links that could lead out of the volume when they are restored are skipped.
func TestLinksOut(t *testing.T) {
	root := volume(t, map[string]string{
		"absolute": "->/etc", "a/out": "->../../x", "again": "->a/../b", "long": "->" + strings.Repeat("x", 4050), "z": "kept", "good": "->z",
	})
	text, commit := write(t, map[int]*os.Root{0: root})
	got, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	const reason = "link that leaves the volume"
	want := []archive.Skipped{{Path: "content/0/a/out", Reason: reason}, {Path: "content/0/absolute", Reason: reason}, {Path: "content/0/again", Reason: reason}}
	if diff := cmp.Diff(want, got.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, listing := untar(t, text); !strings.Contains(listing, "content/0/good") || !strings.Contains(listing, "content/0/z") {
		t.Errorf("what is good is not in\n%s", listing)
	}
}

// TestNames: names that other readers could interpret differently are skipped.
func TestNames(t *testing.T) {
	root := volume(t, map[string]string{
		"x\ny": "x", `a/x\y`: "x", "\xff": "x", "dir\x01/z": "x", "z": "kept", strings.Repeat("\xe9", 120): "x", `\` + strings.Repeat("ж", 100): "x",
	})
	must.Succeed(t, unix.Mkfifo(filepath.Join(root.Name(), "\xfe"), 0o600))
	text, commit := write(t, map[int]*os.Root{0: root})
	got, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	const reason = "name that cannot be restored"
	want := []archive.Skipped{
		// Escaped, it would be longer than a name can be.
		{Path: "content/0/%5C" + strings.Repeat("%D0%B6", 42), Reason: reason},
		{Path: "content/0/a/x%5Cy", Reason: reason}, {Path: "content/0/dir%01", Reason: reason},
		{Path: "content/0/x%0Ay", Reason: reason},
		{Path: "content/0/" + strings.Repeat("%E9", 85), Reason: reason},
		{Path: "content/0/%FE", Reason: "fifo"}, {Path: "content/0/%FF", Reason: reason},
	}
	if diff := cmp.Diff(want, got.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, listing := untar(t, text); !strings.Contains(listing, "content/0/z") {
		t.Errorf("what is good is not in\n%s", listing)
	}
}

// TestUnreadable: files that the user of nginx cannot read are skipped. Root can read everything,
// so another user writes the archive.
func TestUnreadable(t *testing.T) {
	root := volume(t, map[string]string{"mine": "x", "theirs": "x", "closed/x": "x"})
	dir := root.Name()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		must.Succeed(t, os.Chmod(at, 0o755))
	}
	must.Succeed(t, os.Chmod(filepath.Join(dir, "theirs"), 0))
	must.Succeed(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	var text bytes.Buffer
	w := newWriter(t, &text, archive.DefaultLimits(), 0)
	summary, err := asNobody(t, func() (archive.Summary, error) {
		if err := w.Content(0, root); err != nil {
			return archive.Summary{}, err
		}
		return w.Close()
	})
	must.Succeed(t, err)
	if summary.Skipped != 2 {
		t.Errorf("%d are skipped, want 2", summary.Skipped)
	}
	_, err = archive.Verify(t.Context(), &text, archive.NewCommit("x", info(0), summary), archive.DefaultLimits())
	must.Succeed(t, err)
}

// asNobody runs f on a thread of an unprivileged user if the test runs as root. Otherwise the test
// already runs as such a user.
func asNobody(t *testing.T, f func() (archive.Summary, error)) (summary archive.Summary, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		return f()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread keeps the user, and ends with the goroutine.
		runtime.LockOSThread()
		if err = unix.Setfsuid(65534); err == nil {
			summary, err = f()
		}
	}()
	<-done
	return summary, err
}

// TestUnwritable: the error about a volume that exceeds a limit names the file and the limit.
func TestUnwritable(t *testing.T) {
	small := archive.DefaultLimits()
	small.Entries, small.Depth, small.PathLength, small.Bytes = 12, 3, 60, 2000
	cases := []struct {
		name, want string
		files      map[string]string
	}{
		{"many entries", `there are more than 12 entries`, map[string]string{"1": "", "2": "", "3": "", "4": "", "5": "", "6": "", "7": "", "8": "", "9": "", "a": "", "b": ""}},
		{"many bytes", `the files have more than 2000 bytes in total`, map[string]string{"1": strings.Repeat("x", 1500)}},
		{"large file", `it has 2001 bytes: at most 2000 are allowed`, map[string]string{"1": strings.Repeat("x", 2001)}},
		{"deep", `"content/0/a/b/c/d/e": it is more than 3 directories deep`, map[string]string{"a/b/c/d/e": "x"}},
		{"long", `its path has 80 bytes: at most 60 are allowed`, map[string]string{strings.Repeat("x", 70): "x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWriter(t, io.Discard, small, 0)
			err := w.Content(0, volume(t, c.files))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, again := w.Close(); !errors.Is(again, err) {
				t.Errorf("the archive was completed: %v", again)
			}
		})
	}
}

// TestWriterOrder: calls with invalid arguments or in the wrong order return an error.
func TestWriterOrder(t *testing.T) {
	root := volume(t, nil)
	cases := []struct {
		name, want string
		do         func(*archive.Writer) error
	}{
		{"no document", `"content/0/x": it is not a document`, func(w *archive.Writer) error { return w.Documents([]archive.File{{Path: "content/0/x"}}) }},
		{"unknown document", `no such entry`, func(w *archive.Writer) error { return w.Documents([]archive.File{{Path: "x"}}) }},
		{"document twice", `it occurs twice`, func(w *archive.Writer) error { return w.Documents([]archive.File{documents()[0], documents()[0]}) }},
		{"document goes up", `leads out`, func(w *archive.Writer) error { return w.Documents([]archive.File{{Path: "config/asked/../../x"}}) }},
		{"large document", `at most 4194304 are allowed`, func(w *archive.Writer) error {
			return w.Documents([]archive.File{{Path: "nginxoperator.yaml", Data: make([]byte, 4<<20+1)}})
		}},
		{"other volume", `does not name content 1`, func(w *archive.Writer) error { return w.Content(1, root) }},
		{"volume twice", `does not name content 0`, func(w *archive.Writer) error { return errors.Join(w.Content(0, root), w.Content(0, root)) }},
		{"volume is missing", `names 1 content volumes, but 0 were written`, func(w *archive.Writer) error { _, err := w.Close(); return err }},
		{"secret without recipients", `encrypt secret "x"`, func(w *archive.Writer) error { return w.Secret("x", strings.NewReader("")) }},
		{"secret that goes up", `holds files <name>.age only`, func(w *archive.Writer) error {
			return w.Secret("a/b", strings.NewReader(""), identity().Recipient())
		}},
		{"document after secrets", `out of order`, func(w *archive.Writer) error {
			return errors.Join(w.Content(0, root), w.Secret("x", strings.NewReader(""), identity().Recipient()), w.Documents(documents()))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.do(newWriter(t, io.Discard, archive.DefaultLimits(), 0)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestBadInfo(t *testing.T) {
	for want, edit := range map[string]func(*archive.Info){
		"reason is 5000 bytes long":      func(i *archive.Info) { i.Reason = strings.Repeat("x", 5000) },
		"name has control characters":    func(i *archive.Info) { i.Name = "a\x00b" },
		"image is not UTF-8":             func(i *archive.Info) { i.Image = "\xff" },
		"the indexes of content are not": func(i *archive.Info) { i.Content = append(i.Content, i.Content[0]) },
	} {
		i := info(0)
		edit(&i)
		if _, err := archive.NewWriter(t.Context(), io.Discard, i, nil, archive.DefaultLimits()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSecretsAreEncrypted(t *testing.T) {
	text, _ := write(t, nil, "web-tls")
	files, _ := untar(t, text)
	plain, err := age.Decrypt(strings.NewReader(files["secrets/web-tls.age"]), identity())
	must.Succeed(t, err)
	got, err := io.ReadAll(plain)
	must.Succeed(t, err)
	if string(got) != "secret of web-tls" {
		t.Errorf("decrypted is %q", got)
	}
	for name, file := range files {
		if strings.Contains(file, "secret of") {
			t.Errorf("%s has the plain secret", name)
		}
	}
}

// changing is a writer that changes a file after a number of bytes.
type changing struct {
	after int
	do    func()
}

func (c *changing) Write(p []byte) (int, error) {
	if c.after -= len(p); c.after < 0 && c.do != nil {
		c.do()
		c.do = nil
	}
	return len(p), nil
}

// TestFileChangesWhileItIsRead: a file that grows is cut at its first size, and one that shrinks is
// an error.
func TestFileChangesWhileItIsRead(t *testing.T) {
	for _, c := range []struct {
		name, want string
		size       int64
	}{
		{"grows", "", 4 << 20},
		{"shrinks", `"content/0/noise": it shrank from 2097152 to `, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := volume(t, map[string]string{"noise": noise(2 << 20)})
			out := &changing{after: 1 << 20, do: func() { must.Succeed(t, os.Truncate(filepath.Join(root.Name(), "noise"), c.size)) }}
			w := newWriter(t, out, archive.DefaultLimits(), 0)
			err := w.Content(0, root)
			if got := fmt.Sprint(err); c.want != "" && !strings.Contains(got, c.want) || c.want == "" && err != nil {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestWriterIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	root := volume(t, map[string]string{"noise": noise(2 << 20)})
	w, err := archive.NewWriter(ctx, &changing{after: 1 << 20, do: cancel}, info(0), nil, archive.DefaultLimits())
	must.Succeed(t, err)
	if err := w.Content(0, root); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestWriterRefusesBombs: the writer refuses content that readers would refuse.
func TestWriterRefusesBombs(t *testing.T) {
	limits := archive.DefaultLimits()
	limits.Slack, limits.Ratio = 1<<20, 100
	err := newWriter(t, io.Discard, limits, 0).Content(0, large(t))
	if err == nil || !strings.Contains(err.Error(), `"content/0/a": more than 1048576 bytes are compressed by a factor of more than 100`) {
		t.Errorf("got %v", err)
	}
}

// TestOldTimes: a time before 1970 becomes 1970, since a tar without extensions cannot hold it.
func TestOldTimes(t *testing.T) {
	root := volume(t, map[string]string{"a": "a"})
	old := time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
	must.Succeed(t, root.Chtimes("a", old, old))
	text, commit := write(t, map[int]*os.Root{0: root})
	_, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	if _, listing := untar(t, text); !strings.Contains(listing, "1970-01-01T00:00:00Z USTAR content/0/a ") {
		t.Errorf("the time is not in\n%s", listing)
	}
}
