//go:build instance

package instance_test

import (
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginxconf"
)

// volume is the folder on this machine that is mounted at a path of the pod.
func (p *Pod) volume(path string) string {
	return filepath.Join(p.dir, "volumes", strings.TrimPrefix(path, volumes))
}

// mount changes a volume as the kubelet does: a new folder with all of the files, and
// then one link is switched.
func (p *Pod) mount(path string, files map[string]string) {
	p.t.Helper()
	dir := p.volume(path)
	must(p.t, os.MkdirAll(dir, 0o755))
	version, err := os.MkdirTemp(dir, "..version-")
	must(p.t, err)
	must(p.t, os.Chmod(version, 0o755))
	for name, content := range files {
		must(p.t, os.WriteFile(filepath.Join(version, name), []byte(content), 0o644))
	}
	data := filepath.Join(dir, "..data")
	old, _ := os.Readlink(data)
	must(p.t, os.Symlink(filepath.Base(version), data+"_tmp"))
	must(p.t, os.Rename(data+"_tmp", data))
	for name := range files {
		link := filepath.Join(dir, name)
		if _, err := os.Lstat(link); err != nil {
			must(p.t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	entries, err := os.ReadDir(dir)
	must(p.t, err)
	for _, entry := range entries {
		if _, used := files[entry.Name()]; !used && !strings.HasPrefix(entry.Name(), "..") {
			must(p.t, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	if old != "" {
		must(p.t, os.RemoveAll(filepath.Join(dir, old)))
	}
}

// ask asks for revisions by the pod's annotations.
func (p *Pod) ask(test, load string) {
	p.t.Helper()
	p.mount(instanceapi.DirRequests, map[string]string{instanceapi.FileTest: test, instanceapi.FileLoad: load})
}

// next offers a configuration, asks for its test, and returns its revision.
func (p *Pod) next(files map[string]string) string {
	p.t.Helper()
	p.mount(instanceapi.DirNext, files)
	revision := nginxconf.Revision(files)
	p.ask(revision, "")
	return revision
}

// roll offers a configuration and asks for it to be loaded.
func (p *Pod) roll(files map[string]string) string {
	p.t.Helper()
	revision := p.next(files)
	p.ask(revision, revision)
	return revision
}

// site is a configuration that answers with a text.
func site(text string) map[string]string {
	return map[string]string{"site.conf": `server { listen 80; location / { return 200 "` + text + `"; } }`}
}
