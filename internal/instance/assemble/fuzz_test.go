package assemble

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// FuzzFiles: additions to a user's file stay separate from its content. Apart from them, its
// directives are the same, in the same blocks and order, and no line moves. The main file only has
// directives of its own, whatever the name of the user's file.
func FuzzFiles(f *testing.F) {
	f.Add("nginx.conf", stock)
	f.Add("site.conf", "server { access_log a; location / { access_log off; } } access_log b;")
	f.Add("top.main.conf", "daemon off;\npid\n/run/nginx.pid;worker_processes\nauto\n;http{}events{}")
	f.Add("tcp.stream.conf", "server { listen 9000; }")
	f.Add("a-{b}.conf", "http { include a-{b}.conf; }")
	f.Add("nginx.conf", "http{access_log off;access_log a;server{access_log off\n;access_log off;if ($a){access_log off;}}}")
	f.Add("include.conf", "access_log \"a;}b\"; # daemon on;\n'daemon' 'off';")
	f.Fuzz(func(t *testing.T, name, text string) {
		user := map[string]string{name: text}
		if _, err := nginxconf.New(user); err != nil {
			return
		}
		got := Files(user, settings)
		sameLines(t, user, got.Files)
		before, after := syntax.Scan(text), syntax.Scan(got.Files[name])
		off := logsNothing(before)
		want, is := theirs(before, off), theirs(after, off)
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("the user's directives are others (-want +got):\n%s", diff)
		}
		checkMain(t, got.Files)
	})
}

// logsNothing reports whether a block has `access_log off`, so that its logs may be replaced.
func logsNothing(directives []*syntax.Directive) bool {
	return slices.ContainsFunc(directives, func(d *syntax.Directive) bool {
		return d.Is("access_log", "off") || logsNothing(d.Block)
	})
}

// theirs returns the directives that are neither added nor replaced, with the names of their
// blocks.
func theirs(directives []*syntax.Directive, off bool) []string {
	var all []string
	for _, d := range directives {
		replaced := slices.Contains([]string{"daemon", "pid", "worker_processes"}, d.Name) || off && d.Name == "access_log"
		added := d.Is("include", httpFile) || d.Name == "access_log" && strings.Contains(strings.Join(d.Args, " "), settings.RequestLog)
		if replaced || added {
			continue
		}
		all = append(all, fmt.Sprintf("%s %q", d.Name, d.Args))
		for _, inner := range theirs(d.Block, off) {
			all = append(all, d.Name+" { "+inner)
		}
	}
	return all
}

// mains are the allowed directives of the main file and of its blocks.
var mains = []string{"pid", "daemon", "worker_processes", "worker_shutdown_timeout", "error_log", "include", "events", "worker_connections", "http", "stream"}

func checkMain(t *testing.T, files map[string]string) {
	t.Helper()
	var check func([]*syntax.Directive)
	check = func(directives []*syntax.Directive) {
		for _, d := range directives {
			_, known := files[strings.Join(d.Args, " ")]
			switch {
			case !slices.Contains(mains, d.Name):
				t.Errorf("the main file has the directive %q", d.Name)
			case d.Name == "include" && !known && !d.Is("include", settings.Image.EnabledModules):
				t.Errorf("the main file includes %q", d.Args)
			}
			check(d.Block)
		}
	}
	check(syntax.Scan(files[MainFile]))
}
