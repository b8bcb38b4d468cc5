//go:build instance

package instance_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
)

// The table of docs/images.md names these tests. Each has an image with the layout of the one in its row.

// works checks what the operator needs of an image: a start, a load, a refusal with file and line, and a graceful end.
// The pod serves shared("80", "one") or the same on another port.
func (p *Pod) works(port int) {
	p.t.Helper()
	number := strconv.Itoa(port)
	if status := p.ready(); status.NginxVersion == "" {
		p.t.Errorf("status %+v", status)
	}
	p.body(port, "one")
	if got := p.contentType(port, "/style.css"); got != "text/css" {
		p.t.Errorf("the type of /style.css is %q: mime.types is not included", got)
	}
	p.serves(p.roll(shared(number, "two")))
	p.body(port, "two")
	refused := p.roll(map[string]string{"site.conf": "server { listen " + number + ";\n  serve_name x;\n}\n"})
	problem := p.outcome(refused, failed).Problems[0]
	if problem.File != "site.conf" || problem.Line != 3 && problem.Line != 2 || !strings.Contains(problem.Message, "serve_name") {
		p.t.Errorf("problem %+v", problem)
	}
	p.until("the workers are recognized", func(s instanceapi.Status) bool {
		return s.Ready && s.Workers.Running == s.Workers.Configured && s.Workers.Running > 0
	})
	p.signal(syscall.SIGTERM)
	if code := p.exit(patience); code != 0 {
		p.t.Errorf("exit code %d after SIGTERM", code)
	}
}

func (p *Pod) contentType(port int, path string) string {
	p.t.Helper()
	response, err := p.client.Get("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + path)
	must(p.t, err)
	defer func() { _ = response.Body.Close() }()
	return response.Header.Get("Content-Type")
}

// quiet fails the test if the log has a warning about the image.
func (p *Pod) quiet() {
	p.t.Helper()
	for line := range strings.Lines(p.output.String()) {
		if strings.Contains(line, `"level":"WARN"`) && (strings.Contains(line, "image") || strings.Contains(line, "cannot be loaded")) {
			p.t.Errorf("the log has the warning %s", line)
		}
	}
}

// warns fails the test unless the log has a text once.
func (p *Pod) warns(text string) {
	p.t.Helper()
	if n := strings.Count(p.output.String(), text); n != 1 {
		p.t.Errorf("the log has %q %d times, want once", text, n)
	}
}

// fails starts a pod that cannot run, and returns its termination message.
func (p *Pod) fails() string {
	p.t.Helper()
	p.start("", http80)
	if code := p.exit(patience); code == 0 {
		p.t.Error("the container ended as if nothing was wrong")
	}
	message, err := os.ReadFile(filepath.Join(p.dir, "termination-log"))
	must(p.t, err)
	return string(message)
}

const noDelay = "--drain-delay=0s"

var stockScripts = []string{"10-listen-on-ipv6-by-default.sh", "15-local-resolvers.envsh", "20-envsubst-on-templates.sh", "30-tune-worker-processes.sh"}

// official makes an image like docker.io/library/nginx.
func official(t *testing.T, base string) *image {
	i := imageFrom(t, base)
	i.program("/usr/sbin/nginx", "nginx version: nginx/VERSION",
		"--prefix=/etc/nginx --sbin-path=/usr/sbin/nginx --modules-path=/usr/lib/nginx/modules --conf-path=/etc/nginx/nginx.conf --pid-path=/run/nginx.pid")
	i.patch("/usr/sbin/nginx", prefix, "/etc/./././nginx/\x00")
	i.remove("/etc/nginx/modules-enabled", "/etc/nginx/modules-available", "/etc/nginx/sites-available", "/etc/nginx/sites-enabled")
	i.link("/usr/lib/nginx/modules", "/etc/nginx/modules")
	i.write("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
	for _, name := range stockScripts {
		i.write("/docker-entrypoint.d/"+name, "#!/bin/sh\n")
	}
	return i
}

func TestImageOfficial(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		p := official(t, base).pod(shared("80", "one")).start("", http80, noDelay)
		p.works(80)
		p.quiet()
	})
}

func TestImageUnprivileged(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := official(t, base)
		i.write("/etc/nginx/conf.d/default.conf", "server { listen 8080; location / { return 200 \"the image's\"; } }\n")
		p := i.pod(map[string]string{"nginx.conf": `worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /tmp/nginx.pid;
events { worker_connections 1024; }
http {
    proxy_temp_path /tmp/proxy_temp;
    client_body_temp_path /tmp/client_temp;
    fastcgi_temp_path /tmp/fastcgi_temp;
    uwsgi_temp_path /tmp/uwsgi_temp;
    scgi_temp_path /tmp/scgi_temp;
    include /etc/nginx/mime.types;
    access_log /var/log/nginx/access.log;
    include /etc/nginx/conf.d/*.conf;
}
`}).start("", "--port=http:8080/TCP", noDelay)
		p.ready()
		p.body(8080, "the image's")
		p.serves(p.roll(shared("8080", "one")))
		p.works(8080)
		p.quiet()
	})
}

// TestImageAlpine: its modules have their own files, and are found through a link in a folder that a pod covers.
func TestImageAlpine(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := imageFrom(t, base)
		i.program("/usr/sbin/nginx", "nginx version: nginx/VERSION",
			"--prefix=/var/lib/nginx --sbin-path=/usr/sbin/nginx --modules-path=/usr/lib/nginx/modules --conf-path=/etc/nginx/nginx.conf --pid-path=/run/nginx/nginx.pid")
		i.patch("/usr/sbin/nginx", prefix, "/var/lib/./nginx/\x00")
		i.remove("/etc/nginx/modules-enabled", "/etc/nginx/modules-available", "/etc/nginx/conf.d", "/usr/share/nginx/modules")
		i.write("/etc/nginx/modules/10_stream.conf", "load_module \"modules/ngx_stream_module.so\";\n")
		files := shared("80", "one")
		files["tcp.stream.conf"] = "server { listen 9000; return tcp; }\n"
		p := i.pod(files).start("", http80, noDelay)
		p.ready()
		p.serves(p.roll(map[string]string{
			"nginx.conf": "user nginx;\npid /run/nginx/nginx.pid;\ninclude /etc/nginx/modules/*.conf;\nevents {}\nhttp { include mime.types; include /etc/nginx/http.d/*.conf; }\n",
			"a.conf":     shared("80", "one")["site.conf"],
		}))
		p.works(80)
		p.quiet()
	})
}

func TestImageDebian(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := imageFrom(t, base)
		i.write("/etc/nginx/sites-enabled/default", "server { listen 80 default_server; }\n")
		p := i.pod(map[string]string{
			"nginx.conf": "user www-data;\npid /run/nginx.pid;\ninclude /etc/nginx/modules-enabled/*.conf;\nevents {}\nhttp { include /etc/nginx/mime.types; include /etc/nginx/sites-enabled/*.conf; }\nstream { server { listen 9000; return tcp; } }\n",
			"a.conf":     shared("80", "one")["site.conf"],
		}).start("", http80, noDelay)
		p.works(80)
		p.quiet()
	})
}

// bitnami makes an image like bitnami/nginx.
func bitnami(t *testing.T, base string) *image {
	i := imageFrom(t, base)
	i.program("/opt/bitnami/nginx/sbin/nginx", "nginx version: nginx/VERSION",
		"--prefix=/opt/bitnami/nginx --with-http_stub_status_module --with-stream --with-http_ssl_module --with-cc-opt=-Wno-stringop-overread")
	i.move("/etc/nginx", "/opt/bitnami/nginx/conf")
	i.remove("/opt/bitnami/nginx/conf/modules-enabled", "/opt/bitnami/nginx/conf/conf.d", "/opt/bitnami/nginx/conf/tls", "/etc/passwd")
	for _, dir := range []string{"tmp", "logs", "conf/server_blocks"} {
		must(t, os.MkdirAll(i.path("/opt/bitnami/nginx/"+dir), 0o775))
	}
	i.link("/dev/stdout", "/opt/bitnami/nginx/logs/access.log")
	i.link("/dev/stderr", "/opt/bitnami/nginx/logs/error.log")
	i.write("/opt/bitnami/scripts/nginx/entrypoint.sh", "#!/bin/bash\n")
	return i
}

func TestImageBitnami(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := bitnami(t, base)
		// The image's own nginx.conf, whose temporary files need a volume.
		p := i.pod(map[string]string{
			"nginx.conf": `worker_processes auto;
error_log "/opt/bitnami/nginx/logs/error.log";
pid "/opt/bitnami/nginx/tmp/nginx.pid";
events { worker_connections 1024; }
http {
    include mime.types;
    access_log "/opt/bitnami/nginx/logs/access.log";
    client_body_temp_path "/opt/bitnami/nginx/tmp/client_body" 1 2;
    proxy_temp_path "/opt/bitnami/nginx/tmp/proxy" 1 2;
    include "/opt/bitnami/nginx/conf/server_blocks/*.conf";
}
`, "a.conf": shared("8080", "one")["site.conf"]})
		p.user, p.path = 1001, "/opt/bitnami/common/bin:/opt/bitnami/nginx/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
		temporary := filepath.Join(p.dir, "temporary")
		must(t, os.Mkdir(temporary, 0o777))
		must(t, os.Chmod(temporary, 0o777))
		p.mounts = []container.Mount{{From: temporary, To: "/opt/bitnami/nginx/tmp"}}
		p.start("", "--port=http:8080/TCP", noDelay)
		p.ready()
		p.body(8080, "one")
		p.serves(p.roll(shared("8080", "one")))
		p.works(8080)
		p.quiet()
	})
}

func TestImageOpenResty(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		const root = "/usr/local/openresty/nginx"
		i := imageFrom(t, base)
		i.program(root+"/sbin/nginx", "nginx version: openresty/VERSION.1", "--prefix="+root+" --with-cc-opt='-O2 -I/usr/local/openresty/zlib/include' --with-pcre-jit --with-stream")
		i.link("../nginx/sbin/nginx", "/usr/local/openresty/bin/openresty")
		i.link("/usr/local/openresty/bin/openresty", "/usr/bin/openresty")
		i.move("/etc/nginx", root+"/conf")
		i.remove(root+"/conf/modules-enabled", root+"/conf/conf.d", root+"/conf/tls")
		i.write("/etc/nginx/conf.d/default.conf", "server { listen 80; location / { return 200 \"the image's\"; } }\n")
		i.link("/run", "/var/run")
		p := i.pod(map[string]string{"nginx.conf": `pcre_jit on;
events { worker_connections 1024; }
http {
    include mime.types;
    client_body_temp_path /var/run/openresty/nginx-client-body;
    proxy_temp_path /var/run/openresty/nginx-proxy;
    fastcgi_temp_path /var/run/openresty/nginx-fastcgi;
    uwsgi_temp_path /var/run/openresty/nginx-uwsgi;
    scgi_temp_path /var/run/openresty/nginx-scgi;
    include /etc/nginx/conf.d/*.conf;
}
`}).start("", http80, noDelay)
		p.ready()
		p.body(80, "the image's")
		p.serves(p.roll(shared("80", "one")))
		p.works(80)
		p.quiet()
		p.warns(`"nginx":"openresty/` + i.version + `.1"`)
	})
}

// angie makes an image like docker.angie.software/angie, which has no nginx in PATH, and whose nginx has other titles and
// messages and lacks a directive.
func angie(t *testing.T, base string) *image {
	i := imageFrom(t, base)
	i.program("/usr/sbin/angie", "Angie version: Angie/1.10.3\nnginx version: nginx/VERSION",
		"--prefix=/etc/angie --conf-path=/etc/angie/angie.conf --error-log-path=/var/log/angie/error.log --modules-path=/usr/lib/angie/modules --pid-path=/run/angie.pid")
	i.patch("/usr/sbin/angie", prefix, "/etc/./././angie/\x00", "nginx: ", "angie: ", "\x00/etc/nginx/nginx.conf\x00", "\x00/etc/angie/angie.conf\x00")
	if content, err := os.ReadFile(i.path("/usr/sbin/angie")); err == nil && strings.Contains(string(content), "keepalive_min_timeout") {
		i.patch("/usr/sbin/angie", "keepalive_min_timeout", "keepalive_xxx_timeout")
	}
	i.move("/etc/nginx", "/etc/angie")
	i.move("/etc/angie/nginx.conf", "/etc/angie/angie.conf")
	i.move("/usr/lib/nginx/modules", "/usr/lib/angie/modules")
	i.link("/usr/lib/angie/modules", "/etc/angie/modules")
	i.remove("/etc/angie/modules-enabled", "/etc/angie/tls")
	return i
}

func TestImageAngie(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := angie(t, base)
		p := i.pod(map[string]string{
			"nginx.conf": "user angie;\npid /run/angie.pid;\nload_module modules/ngx_stream_module.so;\nevents {}\nhttp { include /etc/angie/mime.types; include /etc/angie/http.d/*.conf; }\nstream { server { listen 9000; return tcp; } }\n",
			"a.conf":     shared("80", "one")["site.conf"],
		}).start("", http80, noDelay)
		p.ready()
		p.body(80, "one")
		p.serves(p.roll(shared("80", "one")))
		p.works(80)
		p.quiet()
	})
}

// TestImageFromSource: nginx or a fork, compiled with the default paths and not in PATH.
func TestImageFromSource(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		for prefix, version := range map[string]string{
			"/usr/local/nginx": "nginx version: freenginx/VERSION", "/usr/local/tengine": "Tengine version: Tengine/3.1.0\nnginx version: nginx/VERSION",
		} {
			i := imageFrom(t, base)
			i.program(prefix+"/sbin/nginx", version, "--prefix="+prefix)
			i.move("/etc/nginx", prefix+"/conf")
			i.remove(prefix+"/conf/modules-enabled", prefix+"/conf/tls")
			p := i.pod(shared("80", "one")).start("", http80, noDelay)
			p.works(80)
			p.quiet()
		}
	})
}

// TestImageDistroless: no shell, no other programs, no users, and the user of distroless images.
func TestImageDistroless(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := imageFrom(t, base)
		content, err := os.ReadFile(i.path("/usr/sbin/nginx"))
		must(t, err)
		i.remove("/usr/bin", "/usr/sbin", "/etc/passwd", "/etc/group")
		i.write("/usr/sbin/nginx", string(content))
		p := i.pod(shared("8080", "one"))
		p.user = 65532
		p.start("", "--port=http:8080/TCP", noDelay).works(8080)
		p.quiet()
	})
}

// TestImageEntrypoint: what the image's entrypoint would process has no effect, and the log says so once.
func TestImageEntrypoint(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := official(t, base)
		i.write("/etc/nginx/templates/site.conf.template", "server { listen ${PORT}; }\n")
		i.write("/docker-entrypoint.d/40-own.sh", "#!/bin/sh\ntouch /tmp/executed\n")
		p := i.pod(shared("80", "one")).start("", http80, noDelay)
		p.works(80)
		p.warns(`"files":["/docker-entrypoint.d/40-own.sh","/etc/nginx/templates/site.conf.template"]`)
		if _, err := os.Stat(filepath.Join(scratchOf(p.dir, "/tmp"), "executed")); err == nil {
			t.Error("the script was executed")
		}
	})
}

// TestImageOfAnotherUser: only its own user may execute nginx.
func TestImageOfAnotherUser(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := bitnami(t, base)
		must(t, os.Chown(i.path("/opt/bitnami/nginx/sbin/nginx"), 1001, 0))
		must(t, os.Chmod(i.path("/opt/bitnami/nginx/sbin/nginx"), 0o750))
		message := i.pod(shared("80", "one")).fails()
		if want := "user 101 may not execute /opt/bitnami/nginx/sbin/nginx: set podTemplate.securityContext.runAsUser"; !strings.HasPrefix(message, want) {
			t.Errorf("message %q, want %q", message, want)
		}
		p := i.pod(shared("80", "one"))
		p.user = 1001
		p.start("", http80, noDelay).works(80)
	})
}

func TestImageWithoutMimeTypes(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		i := imageFrom(t, base)
		i.remove("/etc/nginx/mime.types")
		p := i.pod(shared("80", "one")).start("", http80, noDelay)
		p.ready()
		p.body(80, "one")
		p.warns("the image has no mime.types")
		files := shared("80", "two")
		files["types.conf"] = "types { text/css css; }\n"
		p.serves(p.roll(files))
		if got := p.contentType(80, "/style.css"); got != "text/css" {
			t.Errorf("the type of /style.css is %q", got)
		}
	})
}

// TestImageWithoutNginx: the message names what was looked for, and what to do.
func TestImageWithoutNginx(t *testing.T) {
	eachNginx(t, func(t *testing.T, base string) {
		none := imageFrom(t, base)
		none.remove("/usr/sbin/nginx")
		otherMachine := imageFrom(t, base)
		otherMachine.program("/usr/sbin/nginx", "nginx version: nginx/VERSION", "")
		program, err := os.ReadFile(otherMachine.path("/usr/sbin/nginx"))
		must(t, err)
		program[18]++ // the low byte of e_machine
		otherMachine.write("/usr/sbin/nginx", string(program))
		noLoader := imageFrom(t, base)
		noLoader.patch("/usr/sbin/nginx", "/lib64/ld-linux-x86-64.so.2\x00", "/lib64/ld-linux-missing.so2\x00")
		other := imageFrom(t, base)
		other.remove("/usr/sbin/nginx")
		other.link("/usr/bin/dash", "/usr/sbin/nginx")
		for want, i := range map[string]*image{
			"the image has no nginx: there is no nginx, angie, openresty, freenginx in PATH (/usr/local/sbin:": none,
			"/usr/sbin/nginx is not a program for this node (":                                                 otherMachine,
			"/usr/sbin/nginx cannot start: its dynamic loader is not in the image":                             noLoader,
			"/usr/sbin/nginx is neither nginx nor a fork of it: -V shows":                                      other,
		} {
			start := time.Now()
			if message := i.pod(shared("80", "one")).fails(); !strings.HasPrefix(message, want) {
				t.Errorf("message %q, want %q", message, want)
			}
			t.Logf("%s after %s", want, time.Since(start).Round(time.Millisecond))
		}
	})
}
