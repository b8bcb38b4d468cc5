package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBinaryIsReproducible(t *testing.T) {
	var archives [][]byte
	for i := range 2 {
		path := program(t, "same")
		when := time.Now().Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "image.tar")
		image := Binary{
			Tag: "localhost/test:v1", Entrypoint: "/bin/a", User: "65532",
			Files: []string{path + "=/bin/b", path + "=/bin/a"},
		}
		if err := image.Write(out); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, content)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same programs gave two archives")
	}
}

func TestBinaryContent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "image.tar")
	image := Binary{Tag: "localhost/test:v1", Entrypoint: "/bin/a", User: "65532", Files: []string{program(t, "content") + "=/bin/a"}}
	if err := image.Write(out); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(image.Tag)
	if err != nil {
		t.Fatal(err)
	}
	written, err := tarball.ImageFromPath(out, &tag)
	if err != nil {
		t.Fatal(err)
	}
	config, err := written.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/bin/a"}, config.Config.Entrypoint); config.Config.User != "65532" || diff != "" {
		t.Errorf("user %q, entrypoint %s", config.Config.User, diff)
	}
	layers, err := written.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bin/", "bin/a", "tmp/"}, names(t, layer)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func names(t *testing.T, layer []byte) []string {
	t.Helper()
	var names []string
	for reader := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

func TestBinaryRefuses(t *testing.T) {
	file := program(t, "content")
	tests := map[string]struct {
		image Binary
		want  string
	}{
		"no destination":       {Binary{Tag: "localhost/a:b", Entrypoint: "/a", Files: []string{file}}, "PATH=/DESTINATION"},
		"relative destination": {Binary{Tag: "localhost/a:b", Entrypoint: "/a", Files: []string{file + "=a"}}, "PATH=/DESTINATION"},
		"missing file":         {Binary{Tag: "localhost/a:b", Entrypoint: "/a", Files: []string{file + "x=/a"}}, "no such file"},
		"other entrypoint":     {Binary{Tag: "localhost/a:b", Entrypoint: "/b", Files: []string{file + "=/a"}}, "entrypoint"},
		"no tag":               {Binary{Tag: "localhost/a", Entrypoint: "/a", Files: []string{file + "=/a"}}, "the tag"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "image.tar")
			err := test.image.Write(out)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Error("an archive was written nevertheless")
			}
		})
	}
}

// rootfs returns what mmdebstrap may write: with unneeded files, and with packages from before and
// after Debian merged /usr.
func rootfs(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, header := range []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./bin/sh", Typeflag: tar.TypeReg, Mode: 0o755, Size: 1},
		{Name: "./bin/dash", Typeflag: tar.TypeLink, Linkname: "./bin/sh"},
		{Name: "./usr/sbin/nginx", Typeflag: tar.TypeReg, Mode: 0o755, Size: 1},
		{Name: "./usr/share/doc/nginx/README", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		{Name: "./usr/share/documents", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		{Name: "./var/lib/dpkg/status", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
	} {
		header.ModTime = time.Now()
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, header.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestFromTar(t *testing.T) {
	layer, err := FromTar(rootfs(t))
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Tar()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bin", "lib", "lib64", "sbin", "usr/", "usr/bin/", "usr/bin/sh", "usr/sbin/", "usr/sbin/nginx",
		"usr/share/", "usr/share/documents", "usr/bin/dash",
	}
	if diff := cmp.Diff(want, names(t, content)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got := layer["usr/bin/dash"].Header.Linkname; got != "usr/bin/sh" {
		t.Errorf("the hard link leads to %q", got)
	}
	if got := layer["bin"].Header.Linkname; got != "usr/bin" {
		t.Errorf("/bin leads to %q", got)
	}
}

func TestNginxVersion(t *testing.T) {
	layer := Layer{}
	if _, _, err := nginxVersion(layer); err == nil {
		t.Error("found a version in nothing")
	}
	layer.Add("/usr/sbin/nginx", File(0o755, []byte("\x00nginx/1.30.6\x00")))
	series, exact, err := nginxVersion(layer)
	if err != nil || series != "1.30" || exact != "1.30.6" {
		t.Errorf("version %q of series %q, %v", exact, series, err)
	}
}

func TestNginxFiles(t *testing.T) {
	layer := Layer{}
	if err := addNginxFiles(layer); err != nil {
		t.Fatal(err)
	}
	if got := layer["var/log/nginx/error.log"].Header.Linkname; got != "/dev/stderr" {
		t.Errorf("errors are logged to %q", got)
	}
	if !strings.Contains(string(layer["etc/passwd"].Content), "nginx:x:101:101:") {
		t.Error("there is no user nginx with the id 101")
	}
}
