//go:build instance && importset

package instance_test

import (
	"cmp"
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/nginx-operator/test/importset"
	"example.com/nginx-operator/test/standin/container"
)

// machine is where a configuration runs: it has what the configuration needs.
type machine struct {
	t *testing.T
	// root is the root file system, conf the folder of the configuration as the import sees it, and etc the same with the
	// files of the image. scratch has the folders that nginx writes to.
	dir, root, conf, etc string
	// main is the main file. part is the file that it includes, if that is only a part of a configuration.
	main, part string
	statements []string
	writable   map[string]string
	// sockets are the folders of the sockets of backends.
	sockets []container.Mount
	// hosts are the names that resolve, and provided the files that nginx missed.
	hosts, provided map[string]bool
	// listens are the ports of the configuration.
	listens map[int]bool
	echo    *importset.Echo
	output  *output
}

// configDirs are other names of the folder of the configuration.
var configDirs = []string{"/usr/local/etc/nginx", "/usr/local/nginx/conf", "/usr/local/openresty/nginx/conf", "/opt/bitnami/nginx/conf", "/etc/angie"}

func newMachine(t *testing.T, name string, part bool) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "machine-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	m := &machine{
		t: t, dir: dir, root: filepath.Join(dir, "root"), conf: filepath.Join(dir, "conf"), etc: filepath.Join(dir, "etc"), main: "/etc/nginx/" + filepath.Base(name),
		writable: map[string]string{}, provided: map[string]bool{}, hosts: map[string]bool{"kube-dns.kube-system.svc.cluster.local": true}, listens: map[int]bool{}, output: &output{},
	}
	image := environment.images[cmp.Or(os.Getenv("NGINX_IMAGE"), "forky")]
	link(t, image, m.root)
	link(t, filepath.Dir(name), m.conf)
	m.linkImageFiles(image)
	link(t, filepath.Dir(name), m.etc)
	for _, alias := range configDirs {
		must(t, os.MkdirAll(filepath.Dir(m.root+alias), 0o755))
		must(t, os.Symlink("/etc/nginx", m.root+alias))
	}
	if part {
		m.main, m.part, m.statements = "/etc/nginx/wrapper.importset", filepath.Base(name), []string{importset.Resolver}
		m.wrap()
	}
	for _, folder := range []string{"/var/log/nginx", "/var/lib/nginx", "/run", "/tmp"} {
		m.makeWritable(folder)
	}
	m.writeHosts()
	m.startEcho()
	return m
}

// link links the files of a folder into another one, and replaces those that are there.
func link(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(name, from))
		switch {
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		}
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		return os.Link(name, target)
	}))
}

// wrap writes the configuration around a part.
func (m *machine) wrap() {
	m.t.Helper()
	text := importset.Wrapper(m.read(m.part), m.part, strings.Join(m.statements, " "))
	for _, file := range m.locate(m.main) {
		must(m.t, os.RemoveAll(file))
	}
	m.write(m.main, text)
}

// linkImageFiles links the files of the image that configurations include, such as mime.types. Its own sites stay out.
func (m *machine) linkImageFiles(image string) {
	m.t.Helper()
	entries, err := os.ReadDir(filepath.Join(image, "etc/nginx"))
	must(m.t, err)
	must(m.t, os.MkdirAll(m.etc, 0o755))
	for _, entry := range entries {
		if entry.Type().IsRegular() && entry.Name() != "nginx.conf" {
			must(m.t, os.Link(filepath.Join(image, "etc/nginx", entry.Name()), filepath.Join(m.etc, entry.Name())))
		}
	}
}

// locate returns the files that are at a path of the machine.
func (m *machine) locate(name string) []string {
	if !path.IsAbs(name) {
		name = path.Join("/etc/nginx", name)
	}
	name = path.Clean(name)
	for _, alias := range append([]string{"/etc/nginx"}, configDirs...) {
		if inside, ok := strings.CutPrefix(name, alias+"/"); ok {
			return []string{filepath.Join(m.conf, inside), filepath.Join(m.etc, inside)}
		}
	}
	files := []string{filepath.Join(m.root, name)}
	for folder, from := range m.writable {
		if inside, ok := strings.CutPrefix(name, folder+"/"); ok {
			files = append(files, filepath.Join(from, inside))
		}
	}
	return files
}

// read returns the text of a file of the machine.
func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.locate(name)[0])
	if err != nil {
		m.t.Errorf("a step of the review: %v", err)
	}
	return string(text)
}

// write writes a file that does not exist.
func (m *machine) write(name, text string) {
	m.t.Helper()
	for _, file := range m.locate(name) {
		must(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		must(m.t, os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // nginx's user reads it.
	}
}

// makeWritable lets nginx write to a folder.
func (m *machine) makeWritable(folder string) {
	m.t.Helper()
	if m.writable[folder] != "" {
		return
	}
	from := filepath.Join(m.dir, "writable", strconv.Itoa(len(m.writable)))
	must(m.t, os.MkdirAll(from, 0o755))
	must(m.t, os.Chmod(from, 0o777|os.ModeSticky))
	m.writable[folder] = from
}

// writeHosts makes the names of backends known.
func (m *machine) writeHosts() {
	m.t.Helper()
	text := "127.0.0.1 localhost\n"
	for _, name := range slices.Sorted(maps.Keys(m.hosts)) {
		text += net.IP(importset.Backend[:]).String() + " " + name + "\n"
	}
	must(m.t, os.RemoveAll(filepath.Join(m.root, "etc/hosts")))
	must(m.t, os.WriteFile(filepath.Join(m.root, "etc/hosts"), []byte(text), 0o644)) //nolint:gosec // nginx's user reads it.
}
