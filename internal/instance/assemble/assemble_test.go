package assemble

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/test/golden"
)

var settings = Settings{
	StateDir: "/run/nginx-operator", RequestLog: "/etc/nginx-operator/log/requests.log", Revision: "0123456789abcdef", Generation: 7, Workers: 3,
	DrainTimeout: 30 * time.Second, KeepaliveMinTimeout: true, RequestMetrics: true, Image: DefaultImage(),
}

// stock is similar to the nginx.conf of common images.
const stock = `user nginx;
worker_processes auto;
pid /run/nginx.pid;
events { worker_connections 768; }
http {
    include mime.types;
    access_log /var/log/nginx/access.log;
    server { listen 80; location /quiet { access_log off; } location /own { access_log /dev/stdout; } }
}
`

func TestGolden(t *testing.T) {
	tests := map[string]map[string]string{
		"least": {"site.conf": "server { listen 80; }\n"},
		"contexts": {
			"a.conf": "server { listen 80; }\n", "b.conf": "keepalive_timeout 10s;\nsendfile off;\naccess_log /dev/stderr;\n",
			"tcp.stream.conf": "server { listen 9000; return hi; }\n", "top.main.conf": "worker_processes 4;\nworker_shutdown_timeout 3s;\n",
			"users": "alice:x\n",
		},
		"whole":     {"nginx.conf": stock},
		"no-http":   {"nginx.conf": "events {}\nstream { server { listen 9000; return hi; } }\n"},
		"http-file": {"nginx.conf": "events {}\ninclude web.inc;\n", "web.inc": "# mine\nhttp\n{\n  server { listen 80; }\n}\n"},
	}
	for name, user := range tests {
		t.Run(name, func(t *testing.T) {
			got := Files(user, settings)
			if len(got.Problems) > 0 {
				t.Fatalf("problems: %v", got.Problems)
			}
			var text strings.Builder
			for _, file := range slices.Sorted(maps.Keys(got.Files)) {
				text.WriteString("=== " + file + "\n" + got.Files[file])
			}
			golden.Compare(t, filepath.Join("testdata", name+".txt"), text.String())
			sameLines(t, user, got.Files)
		})
	}
}

// TestCacheLog: only where a configuration defines what its cache logs, the log has it.
func TestCacheLog(t *testing.T) {
	const defined = "map $x $nginx_cache_log { default y; }\n"
	for name, tt := range map[string]struct {
		cache bool
		user  string
		want  string
	}{
		"a cache":                       {true, defined, `\t0123456789abcdef\t$nginx_cache_log"`},
		"a cache of an earlier release": {true, "server { listen 80; }\n", `\t0123456789abcdef"`},
		"another variable":              {true, "map $nginx_cache_log $x { default y; }\n", `\t0123456789abcdef"`},
		"no cache":                      {false, defined, `\t0123456789abcdef"`},
	} {
		s := settings
		s.CacheMetrics = tt.cache
		got := Files(map[string]string{"a.conf": tt.user}, s).Files[httpFile]
		if !strings.Contains(got, tt.want+";\n") {
			t.Errorf("%s: the log format is not %s:\n%s", name, tt.want, got)
		}
	}
}

// TestOldNginx: without keepalive_min_timeout, connections are closed while the pod drains.
// TestResolver: nginx refuses an upstream whose addresses it has to ask for again unless it has a resolver, and every
// cluster has other name servers.
func TestResolver(t *testing.T) {
	const upstream = "upstream app { zone app 64k; server app.shop.svc.cluster.local%s; }\n"
	for name, tt := range map[string]struct {
		user    string
		servers []string
		want    string
	}{
		"an address that is asked for again": {fmt.Sprintf(upstream, ":80 resolve"), []string{"10.96.0.10", "fd00::a"}, "resolver 10.96.0.10 [fd00::a] valid=2s;"},
		"an address that is asked for once":  {fmt.Sprintf(upstream, ""), []string{"10.96.0.10"}, ""},
		"a resolver of the user":             {"resolver 1.1.1.1;\n" + fmt.Sprintf(upstream, " resolve"), []string{"10.96.0.10"}, ""},
		"a pod without a name server":        {fmt.Sprintf(upstream, " resolve"), nil, ""},
		"a server block that is called so":   {"server { server_name resolve; }\n", []string{"10.96.0.10"}, ""},
	} {
		s := settings
		s.NameServers = tt.servers
		text := Files(map[string]string{"site.conf": tt.user}, s).Files[httpFile]
		if strings.Contains(text, "resolver") != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %q in\n%s", name, tt.want, text)
		}
	}
}

func TestOldNginx(t *testing.T) {
	old := settings
	old.KeepaliveMinTimeout, old.KeepaliveTime, old.DrainDelay = false, true, 5*time.Second
	without := old
	without.DrainDelay = 0
	tests := map[string]struct {
		settings Settings
		site     string
		want     []string
	}{
		"half of the delay":         {old, "server { listen 80; }\n", []string{"keepalive_time 2500ms;"}},
		"a new one needs it not":    {settings, "server { listen 80; }\n", nil},
		"no delay, no reason":       {without, "server { listen 80; }\n", nil},
		"the user's own stays":      {old, "keepalive_time 1h;\nserver { listen 80; }\n", []string{"keepalive_time 1h;"}},
		"that of a server is above": {old, "server { listen 80; keepalive_time 1h; }\n", []string{"keepalive_time 2500ms;", "keepalive_time 1h;"}},
	}
	directive := regexp.MustCompile(`keepalive_time [^;]*;`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := Files(map[string]string{"site.conf": tt.site}, tt.settings).Files
			var got []string
			for _, file := range slices.Sorted(maps.Keys(files)) {
				got = append(got, directive.FindAllString(files[file], -1)...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("keepalive_time (-want +got):\n%s", diff)
			}
		})
	}
}

// sameLines reports an error if additions changed the number of lines in a user's file.
func sameLines(t *testing.T, user, assembled map[string]string) {
	t.Helper()
	for name, text := range user {
		if before, after := strings.Count(text, "\n"), strings.Count(assembled[name], "\n"); before != after {
			t.Errorf("%s had %d lines and has %d", name, before, after)
		}
	}
}

func FuzzLinesStay(f *testing.F) {
	f.Add(stock)
	f.Add("http{access_log a;\n\n}pid\n/run/nginx.pid\n;")
	f.Add("server { content_by_lua_block { ngx.say('}') } access_log \"a;b\"; }")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"nginx.conf", "site.conf"} {
			user := map[string]string{name: text}
			sameLines(t, user, Files(user, settings).Files)
		}
	})
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		user map[string]string
		file string
		line int
		want string
	}{
		"daemon":         {map[string]string{"nginx.conf": "events {}\ndaemon on;\n"}, "nginx.conf", 2, "foreground"},
		"master_process": {map[string]string{"top.main.conf": "master_process off;"}, "top.main.conf", 1, "master process"},
		"pid elsewhere":  {map[string]string{"top.main.conf": "\n\npid /srv/nginx.pid;"}, "top.main.conf", 3, "process ID"},
		"include loop":   {map[string]string{"a.conf": "include a.conf;"}, "a.conf", 1, "include cycle"},
		"two http":       {map[string]string{"a.conf": "server {}", "top.main.conf": "http {}"}, "top.main.conf", 1, "conflicts with the one"},
	}
	var messages golden.Messages
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Files(tt.user, settings).Problems
			for _, p := range got {
				messages.Add("configuration refused by an instance", fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message))
			}
			if len(got) != 1 || got[0].File != tt.file || got[0].Line != tt.line || !strings.Contains(got[0].Message, tt.want) {
				t.Errorf("problems = %v, want one in %s:%d with %q", got, tt.file, tt.line, tt.want)
			}
		})
	}
	messages.Compare(t, "configuration.txt")
}

func TestWorkers(t *testing.T) {
	for text, want := range map[string]int{"": 3, "worker_processes auto;": 3, "worker_processes 8;": 8} {
		if got := Files(map[string]string{"a.conf": "", "top.main.conf": text}, settings).Demand.Workers; got != want {
			t.Errorf("%q: %d workers, want %d", text, got, want)
		}
	}
}

func TestKeepaliveIsShorterThanTheShutdown(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "keepalive_min_timeout 5000ms;",
		"worker_shutdown_timeout 4s;":    "keepalive_min_timeout 2000ms;",
		"worker_shutdown_timeout 1h;":    "keepalive_min_timeout 5000ms;",
		"worker_shutdown_timeout 500ms;": "keepalive_min_timeout 250ms;",
	} {
		got := Files(map[string]string{"a.conf": "", "top.main.conf": text}, settings).Files[httpFile]
		if !strings.Contains(got, want) {
			t.Errorf("%q: there is no %q in\n%s", text, want, got)
		}
	}
}

func TestWithoutRequestMetricsNothingIsLogged(t *testing.T) {
	off := settings
	off.RequestMetrics = false
	got := Files(map[string]string{"site.conf": "access_log /dev/stdout;"}, off).Files
	for name, text := range got {
		if strings.Contains(text, logName) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if diff := cmp.Diff("access_log /dev/stdout;", got["site.conf"]); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkFiles(b *testing.B) {
	for name, user := range map[string]map[string]string{
		"one file": {"site.conf": "server { listen 80; }\n"},
		"whole":    {"nginx.conf": stock},
		"100 KiB":  {"site.conf": strings.Repeat("server { listen 80; location / { return 200 ok; } }\n", 2000)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := Files(user, settings); len(got.Problems) > 0 {
					b.Fatalf("problems: %v", got.Problems)
				}
			}
		})
	}
}

// TestDeclaredFilesAreIncluded: the include of a folder of sites includes each of the user's files
// once.
func TestDeclaredFilesAreIncluded(t *testing.T) {
	nginxConf := func(includes string) string { return "events {}\nhttp {\n" + includes + "\n}\n" }
	tests := map[string]struct {
		user map[string]string
		want string
	}{
		"conf.d": {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/*.conf;"), "b.conf": "", "a.conf": "", "users": "a:b"},
			"include a.conf; include b.conf; include /etc/nginx/conf.d/*.conf;"},
		"relative": {map[string]string{"nginx.conf": nginxConf("include conf.d/*.conf;"), "a.conf": ""},
			"include a.conf; include conf.d/*.conf;"},
		"both of Debian's": {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/*.conf; include /etc/nginx/sites-enabled/*;"), "a.conf": "", "users": ""},
			"include a.conf; include /etc/nginx/conf.d/*.conf; include /etc/nginx/sites-enabled/*;"},
		"one file": {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/default.conf;"), "default.conf": "", "other.conf": ""},
			"include default.conf; include /etc/nginx/conf.d/default.conf;"},
		"what is included already": {map[string]string{"nginx.conf": nginxConf("include site.conf; include /etc/nginx/conf.d/*.conf;"),
			"site.conf": "server { include snippet.conf; }", "snippet.conf": "gzip on;"},
			"include site.conf; include /etc/nginx/conf.d/*.conf;"},
		"a snippet of a file that is not": {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/*.conf;"),
			"site.conf": "server { include snippet.conf; }", "snippet.conf": "gzip on;"},
			"include site.conf; include /etc/nginx/conf.d/*.conf;"},
		"of a server":         {map[string]string{"nginx.conf": nginxConf("server { include /etc/nginx/conf.d/*.conf; }"), "a.conf": ""}, "server { include /etc/nginx/conf.d/*.conf; }"},
		"of another context":  {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/*.conf;"), "a.stream.conf": "", "a.main.conf": ""}, "include /etc/nginx/conf.d/*.conf;"},
		"of another folder":   {map[string]string{"nginx.conf": nginxConf("include /srv/conf.d/*.conf;"), "a.conf": ""}, "include /srv/conf.d/*.conf;"},
		"there are no others": {map[string]string{"nginx.conf": nginxConf("include /etc/nginx/conf.d/*.conf;")}, "include /etc/nginx/conf.d/*.conf;"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Files(tt.user, settings)
			if len(got.Problems) > 0 {
				t.Fatalf("problems: %v", got.Problems)
			}
			if line := strings.Split(got.Files["nginx.conf"], "\n")[2]; line != tt.want {
				t.Errorf("-want +got:\n%s", cmp.Diff(tt.want, line))
			}
			sameLines(t, tt.user, got.Files)
		})
	}
}

// TestDeclaredFilesAreChecked: a file that is included that way gets the same additions as other
// files of the user.
func TestDeclaredFilesAreChecked(t *testing.T) {
	got := Files(map[string]string{
		"nginx.conf": "events {}\nhttp { include /etc/nginx/conf.d/*.conf; }\n", "site.conf": "server { listen 80; access_log /dev/stdout; }\n",
	}, settings)
	if !strings.Contains(got.Files["site.conf"], settings.RequestLog+" "+logName) {
		t.Errorf("its requests are not measured: %s", got.Files["site.conf"])
	}
}
