//go:build instance

package instance_test

import (
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

// mount changes a volume as the kubelet does.
func (p *Pod) mount(path string, files map[string]string) {
	p.t.Helper()
	must(p.t, container.Publish(p.volume(path), files))
}

// request requests revisions by the pod's annotations.
func (p *Pod) request(test, load string) {
	p.t.Helper()
	p.mount(instanceapi.DirRequests, map[string]string{instanceapi.FileTest: test, instanceapi.FileLoad: load})
}

// next mounts a configuration, requests its test, and returns its revision.
func (p *Pod) next(files map[string]string) string {
	p.t.Helper()
	p.mount(instanceapi.DirNext, files)
	revision := nginxconf.Revision(files)
	p.request(revision, "")
	return revision
}

// roll mounts a configuration, requests its test and its load, and returns its revision.
func (p *Pod) roll(files map[string]string) string {
	p.t.Helper()
	revision := p.next(files)
	p.request(revision, revision)
	return revision
}

// site returns a configuration that responds with a text.
func site(text string) map[string]string {
	return map[string]string{"site.conf": `server { listen 80; location / { return 200 "` + text + `"; } }`}
}
