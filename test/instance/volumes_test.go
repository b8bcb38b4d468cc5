//go:build instance

package instance_test

import (
	"maps"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/standin/container"
)

// volume returns the directory on this machine that is mounted at a path of the pod.
func (p *Pod) volume(path string) string {
	return filepath.Join(p.dir, "volumes", strings.TrimPrefix(path, volumes))
}

// mount changes a volume as the kubelet does. The folder of the candidate always has the trust file, as its ConfigMap.
func (p *Pod) mount(path string, files map[string]string) {
	p.t.Helper()
	if path == instanceapi.DirNext {
		all := map[string]string{instanceapi.FileTrust: p.operator.trust(p.t)}
		maps.Copy(all, files)
		files = all
	}
	must(p.t, container.Publish(p.volume(path), files))
}

// next mounts a configuration, orders its test, which may hang, and returns its revision.
func (p *Pod) next(files map[string]string) string {
	p.t.Helper()
	p.mount(instanceapi.DirNext, files)
	revision := nginxconf.Revision(files)
	// The instance may not have noticed the mounted files yet.
	p.sendOrder(instanceapi.Requested{Test: revision}, instanceapi.Contents{revision: files}, instanceapi.Hints{})
	return revision
}

// roll mounts a configuration, orders its test and its load, which may hang, and returns its revision.
func (p *Pod) roll(files map[string]string) string {
	p.t.Helper()
	p.mount(instanceapi.DirNext, files)
	revision := nginxconf.Revision(files)
	p.sendOrder(instanceapi.Requested{Test: revision, Load: revision}, instanceapi.Contents{revision: files}, instanceapi.Hints{})
	return revision
}

// site returns a configuration that responds with a text.
func site(text string) map[string]string {
	return map[string]string{"site.conf": `server { listen 80; location / { return 200 "` + text + `"; } }`}
}
