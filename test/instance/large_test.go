//go:build instance

package instance_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// geoFolder is a volume that a user mounts beside the configuration.
const geoFolder = "/etc/nginx-operator/data"

// geo writes a geo block with the given number of lines.
func (p *Pod) geo(lines int) {
	p.t.Helper()
	must(p.t, os.MkdirAll(p.volume(geoFolder), 0o755))
	file, err := os.Create(filepath.Join(p.volume(geoFolder), "geo.conf"))
	must(p.t, err)
	w := bufio.NewWriter(file)
	for i := range lines {
		address := fmt.Sprintf("%d.%d.%d.%d", 10+(i>>24), (i>>16)&255, (i>>8)&255, i&255)
		_, _ = fmt.Fprintf(w, "%s-%s v%d;\n", address, address, i%100)
	}
	must(p.t, w.Flush())
	must(p.t, file.Close())
}

// peak returns the peak memory of a process.
func peak(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, err := strconv.Atoi(strings.Fields(value)[0])
			must(t, err)
			return kibibytes >> 10
		}
	}
	t.Fatal("the kernel does not say")
	return 0
}

// TestLargeConfiguration: what follows a file with a million lines is found, and process 1 stays
// small.
func TestLargeConfiguration(t *testing.T) {
	files := map[string]string{
		"a.conf": "geo $place { ranges; default none; include " + geoFolder + "/geo.conf; }\n",
		"b.conf": `server { listen 80; location / { return 200 "large"; } }`,
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("small"))
		// nginx itself takes seconds for this, and fails on a machine with too little memory.
		p.patience = 3 * time.Minute
		p.geo(1_000_000)
		p.start(image, http80)
		p.ready()
		small := peak(t, p.container.PID())
		revision := p.next(files)
		p.outcome(revision, passed)
		large := peak(t, p.container.PID())
		t.Logf("process 1 had at most %d MiB, and %d MiB with a small configuration", large, small)
		const most = 12
		if large-small > most {
			t.Errorf("process 1 grew by %d MiB", large-small)
		}
		p.geo(200_000)
		p.order(revision, revision, nil)
		p.serves(revision)
		p.body(80, "large")
	})
}

// TestDeclaredFilesOfAWholeConfiguration: the include of an image's nginx.conf finds the declared
// files, and a file that nothing includes is reported.
func TestDeclaredFilesOfAWholeConfiguration(t *testing.T) {
	whole := func(include string) map[string]string {
		return map[string]string{
			"nginx.conf": "events {}\nhttp {\n" + include + "\n  server { listen 80; location / { return 200 \"whole\"; } }\n}\n",
			"site.conf":  `server { listen 80; location / { return 200 "declared"; } }`,
			"users":      "alice:x",
		}
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, whole("include /etc/nginx/conf.d/*.conf;")).start(image, http80)
		if r := p.ready().Revisions; len(r) != 1 || len(r[0].Unread) > 0 {
			t.Errorf("revisions %+v", r)
		}
		p.body(80, "declared")
		revision := p.roll(whole(""))
		p.serves(revision)
		p.body(80, "whole")
		if unread := p.outcome(revision, passed).Unread; len(unread) != 1 || unread[0] != "site.conf" {
			t.Errorf("unread: %v", unread)
		}
	})
}

// TestChecksAtTheEndOfABlock: a problem is reported at the user's line, although nginx reports a
// line of a generated file or the end of a block.
func TestChecksAtTheEndOfABlock(t *testing.T) {
	const server = "server { listen 80; }\n"
	bad := map[string]struct {
		files map[string]string
		file  string
		line  int
	}{
		"connection_pool_size":    {map[string]string{"a.conf": "connection_pool_size 512m;\n" + server}, "a.conf", 1},
		"proxy_busy_buffers_size": {map[string]string{"a.conf": server, "b.conf": "\nproxy_busy_buffers_size 1m;\n"}, "b.conf", 2},
		"fastcgi_buffers":         {map[string]string{"a.conf": "server { listen 80;\n fastcgi_busy_buffers_size 1m;\n}\n"}, "a.conf", 2},
		"a whole nginx.conf":      {map[string]string{"nginx.conf": "events {}\nhttp {\n" + server + "  connection_pool_size 512m;\n}\n"}, "nginx.conf", 4},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good")).start(image, http80)
		p.ready()
		for name, tt := range bad {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				found := p.outcome(p.next(tt.files), failed).Problems
				if len(found) == 0 || found[0].File != tt.file || found[0].Line != tt.line {
					t.Errorf("problems %+v", found)
				}
			})
		}
	})
}

// TestLockFileIsAccepted: a configuration is accepted although nginx complains about a changed
// lock file.
func TestLockFileIsAccepted(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good")).start(image, http80)
		p.ready()
		files := site("better")
		files["top.main.conf"] = "lock_file /tmp/other.lock;\n"
		status := p.serves(p.roll(files))
		p.body(80, "better")
		if status.Reloads != (instanceapi.Reloads{Succeeded: 1}) {
			t.Errorf("reloads %+v", status.Reloads)
		}
	})
}
