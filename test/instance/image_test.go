//go:build instance

package instance_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// image is the root file system of an image that is made from one of Debian's nginx. The program stays Debian's, but for
// the strings that it was compiled with.
type image struct {
	t       *testing.T
	root    string
	version string
}

// imageFrom copies an image. The copy has hard links to its files, so they must be replaced, not changed.
func imageFrom(t *testing.T, base string) *image {
	t.Helper()
	from := environment.images[base]
	dir, err := os.MkdirTemp(filepath.Dir(from), "made-") //nolint:usetesting // Hard links need the same file system, and others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	i := &image{t: t, root: filepath.Join(dir, "root")}
	output, err := exec.Command("cp", "-al", from, i.root).CombinedOutput()
	if err != nil {
		t.Fatalf("copy the image: %v\n%s", err, output)
	}
	must(t, os.Chmod(dir, 0o755))
	i.write("/srv/www/style.css", "body {}\n")
	return i
}

func (i *image) path(name string) string { return filepath.Join(i.root, name) }

// move moves files or folders to a folder, or to a new name.
func (i *image) move(from, to string) {
	i.t.Helper()
	must(i.t, os.MkdirAll(filepath.Dir(i.path(to)), 0o755))
	must(i.t, os.Rename(i.path(from), i.path(to)))
}

func (i *image) remove(names ...string) {
	i.t.Helper()
	for _, name := range names {
		must(i.t, os.RemoveAll(i.path(name)))
	}
}

func (i *image) write(name, content string) {
	i.t.Helper()
	must(i.t, os.MkdirAll(filepath.Dir(i.path(name)), 0o755))
	must(i.t, os.RemoveAll(i.path(name)))
	must(i.t, os.WriteFile(i.path(name), []byte(content), 0o755))
}

func (i *image) link(target, name string) {
	i.t.Helper()
	must(i.t, os.MkdirAll(filepath.Dir(i.path(name)), 0o755))
	must(i.t, os.RemoveAll(i.path(name)))
	must(i.t, os.Symlink(target, i.path(name)))
}

var (
	versionText = regexp.MustCompile(`nginx version: nginx/([0-9.]+)`)
	buildText   = regexp.MustCompile(`configure arguments:[^\x00\n]*`)
)

// program moves nginx to a path. There it shows, for -V, a version and other arguments of `configure`. VERSION stands for
// that of Debian's nginx, which is what the fork is based on.
func (i *image) program(path, version, arguments string) {
	i.t.Helper()
	content, err := os.ReadFile(i.path("/usr/sbin/nginx"))
	must(i.t, err)
	i.remove("/usr/sbin/nginx")
	found := versionText.FindSubmatch(content)
	if found == nil {
		i.t.Fatal("the program does not contain its version")
	}
	i.version = string(found[1])
	text := strings.ReplaceAll(version, "VERSION", i.version) + "\nconfigure arguments: " + arguments
	content = versionText.ReplaceAllFunc(content, func(old []byte) []byte { return bytes.Repeat([]byte(" "), len(old)) })
	content = buildText.ReplaceAllFunc(content, func(old []byte) []byte {
		if len(text) > len(old) {
			i.t.Fatalf("there is no room for %q", text)
		}
		return append([]byte(text), bytes.Repeat([]byte(" "), len(old)-len(text))...)
	})
	i.write(path, string(content))
}

// patch replaces strings of a program by others of the same length.
func (i *image) patch(path string, pairs ...string) {
	i.t.Helper()
	content, err := os.ReadFile(i.path(path))
	must(i.t, err)
	for ; len(pairs) > 0; pairs = pairs[2:] {
		if len(pairs[0]) != len(pairs[1]) || !bytes.Contains(content, []byte(pairs[0])) {
			i.t.Fatalf("%q cannot become %q", pairs[0], pairs[1])
		}
		content = bytes.ReplaceAll(content, []byte(pairs[0]), []byte(pairs[1]))
	}
	i.write(path, string(content))
}

// prefix is how Debian's nginx has its prefix, and prefixes are other paths of that length.
const prefix = "/usr/share/nginx/\x00"

// pod prepares a pod of the image.
func (i *image) pod(files map[string]string) *Pod {
	p := newPod(i.t, files)
	p.root = i.root
	return p
}

// shared returns a configuration that needs files of the image: mime.types, and fastcgi_params by its relative name.
func shared(port, text string) map[string]string {
	return map[string]string{"site.conf": `server {
    listen ` + port + `;
    root /srv/www;
    location / { return 200 "` + text + `"; }
    location = /style.css { }
    location /app { include fastcgi_params; fastcgi_pass unix:/run/app.sock; }
}
`}
}
