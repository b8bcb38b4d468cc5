package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/test/golden"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func info(indexes ...int) archive.Info {
	i := archive.Info{
		Name: "web-1", UID: "b1", Namespace: "shop", Application: archive.Application{Name: "web", UID: "a1", Generation: 7},
		TakenAt: noon, Trigger: "Schedule", Reason: "before the sale\nstarts", OperatorVersion: "0.5.0",
		Image: "nginx:1.29", ImageDigest: "sha256:1", NginxVersion: "1.29.3", ConfigRevision: "c2", ServedRevision: "c1",
		Secrets: []archive.Secret{{Name: "web-tls", UsedFor: "tls of www.example.com", Fingerprint: "f1"}},
	}
	for _, index := range indexes {
		i.Content = append(i.Content, archive.Volume{Index: index, Claim: "pages", MountPath: "/srv"})
	}
	return i
}

func documents() []archive.File {
	return []archive.File{
		{Path: "revisions/3.yaml", Data: []byte("revision: 3\n")},
		{Path: "config/served/nginx.conf", Data: []byte("events {}\n")},
		{Path: "config/asked/conf.d/a.conf", Data: []byte("# a\n")},
		{Path: "config/asked/nginx.conf", Data: []byte("events {}\n")},
		{Path: "configmaps/web.yaml", Data: []byte("kind: ConfigMap\n")},
		{Path: "nginxoperator.yaml", Data: []byte("kind: NginxOperator\n")},
	}
}

// volume creates a directory with files. A name with a trailing slash is a directory, and a text
// with the prefix -> is a link.
func volume(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
		target, link := strings.CutPrefix(text, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			must.Succeed(t, os.MkdirAll(file, 0o755))
		case link:
			must.Succeed(t, os.Symlink(target, file))
		default:
			must.Succeed(t, os.WriteFile(file, []byte(text), 0o644))
		}
	}
	// Set the times again, since writing changed those of the directories.
	at := unix.NsecToTimeval(noon.UnixNano())
	must.Succeed(t, filepath.Walk(dir, func(file string, _ os.FileInfo, err error) error {
		return errors.Join(err, unix.Lutimes(file, []unix.Timeval{at, at}))
	}))
	return open(t, dir)
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, root.Close()) })
	return root
}

var pages = map[string]string{
	"index.html": "<h1>hello</h1>\n", "empty": "", "css/site.css": "body {}\n", "css.old": "old\n", "css/": "", "void/": "",
	"img/a/b/c.svg": "<svg/>\n", "current": "->css/./site.css", "img/up": "->../index.html", "Ünï/ñ": "utf-8\n",
	"Index.html": "another\n", strings.Repeat("long/", 30) + strings.Repeat("n", 200): "long\n",
}

// write writes an archive of volumes and returns it with its commit record.
func write(t testing.TB, roots map[int]*os.Root, secrets ...string) ([]byte, archive.Commit) {
	t.Helper()
	var indexes []int
	for i := range 100 {
		if roots[i] != nil {
			indexes = append(indexes, i)
		}
	}
	var out bytes.Buffer
	w, err := archive.NewWriter(t.Context(), &out, info(indexes...), nil, archive.DefaultLimits())
	must.Succeed(t, err)
	must.Succeed(t, w.Documents(documents()))
	for _, i := range indexes {
		must.Succeed(t, w.Content(i, roots[i]))
	}
	for _, name := range secrets {
		must.Succeed(t, w.Secret(name, strings.NewReader("secret of "+name), identity().Recipient()))
	}
	summary, err := w.Close()
	must.Succeed(t, err)
	return out.Bytes(), archive.NewCommit("shop/web/web-1.tar.gz", info(indexes...), summary)
}

var identity = sync.OnceValue(func() *age.X25519Identity {
	i, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	return i
})

// untar unpacks an archive like any other tool, and lists it.
func untar(t *testing.T, text []byte) (files map[string]string, list string) {
	t.Helper()
	unzip, err := gzip.NewReader(bytes.NewReader(text))
	must.Succeed(t, err)
	files = map[string]string{}
	for r := tar.NewReader(unzip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, list
		}
		must.Succeed(t, err)
		data, err := io.ReadAll(r)
		must.Succeed(t, err)
		files[h.Name] = string(data)
		list += fmt.Sprintf("%c %04o %d:%d %s %s %s %s\n", h.Typeflag, h.Mode, h.Uid, h.Gid, h.ModTime.UTC().Format(time.RFC3339), h.Format, h.Name, h.Linkname)
	}
}

func TestRoundTrip(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{2: volume(t, pages), 10: volume(t, nil)}, "a-tls", "web-tls")
	got, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	want := archive.Contents{
		Info:      commit.Info,
		Documents: []string{"nginxoperator.yaml", "configmaps/web.yaml", "config/asked/conf.d/a.conf", "config/asked/nginx.conf", "config/served/nginx.conf", "revisions/3.yaml"},
		Content:   []archive.Tree{{Index: 2, Files: 8, Directories: 36, Links: 2, Bytes: 53}, {Index: 10}},
		Secrets:   []string{"a-tls", "web-tls"},
		Totals:    commit.Totals,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, files, err := archive.ReadDocuments(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
	if len(files) != len(documents()) || files[0].Path != "nginxoperator.yaml" || string(files[0].Data) != "kind: NginxOperator\n" {
		t.Errorf("the documents are %+v", files)
	}
}

func TestSameInputSameArchive(t *testing.T) {
	root := volume(t, pages)
	a, _ := write(t, map[int]*os.Root{0: root})
	b, _ := write(t, map[int]*os.Root{0: root})
	if !bytes.Equal(a, b) {
		t.Error("two archives of the same differ")
	}
}

// TestFormatStays: the text of the format does not change, since old archives have to be readable
// forever. The digests of compressed streams depend on the compressor and are left out.
func TestFormatStays(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, map[string]string{"a/b.html": "b\n", "a/l": "->b.html", "c": "c\n"})})
	entries, list := untar(t, text)
	golden.Compare(t, "testdata/tar.txt", list)
	golden.Compare(t, "testdata/backup.json", entries["backup.json"])
	golden.Compare(t, "testdata/manifest.jsonl", entries["manifest.jsonl"])
	commit.Size, commit.SHA256 = 1234, strings.Repeat("0", 64)
	record, err := commit.Encode()
	must.Succeed(t, err)
	golden.Compare(t, "testdata/commit.json", string(record))
}
