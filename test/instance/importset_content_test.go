//go:build instance && importset

package instance_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/test/importset"
)

// someServer is the server of a configuration that has none.
const someServer = `server {
    listen 80;
    root /usr/share/nginx/html;
    location /proxied/ { proxy_pass http://127.0.0.1:3000; }
}
`

// addServer adds a server around a part, or where an include of the http block looks for servers.
func (m *machine) addServer(tree syntax.Tree) (added bool) {
	m.t.Helper()
	if m.part != "" {
		return m.provide(importset.Need{Kind: importset.Statement, Name: someServer})
	}
	tree.Walk(m.main, func(v syntax.Visit) {
		if v.Name == "include" && v.In("http") && len(v.Args) == 1 && strings.Contains(v.Args[0], "*") && !added {
			m.write(strings.ReplaceAll(v.Args[0], "*", "site"), someServer)
			added = true
		}
	})
	return added
}

// provideContent provides what nginx needs when it serves: content, users, backends at sockets.
func (m *machine) provideContent(tree syntax.Tree) {
	m.t.Helper()
	tree.Walk(m.main, func(v syntax.Visit) {
		argument := ""
		if len(v.Args) > 0 {
			argument = v.Args[0]
		}
		m.provideFor(v, argument)
	})
}

// provideFor provides what a directive needs when nginx serves.
func (m *machine) provideFor(v syntax.Visit, argument string) {
	m.t.Helper()
	switch v.Name {
	case "listen":
		m.addListens(argument)
	case "ssl_dhparam": // nginx reads it for servers with TLS only.
		m.write(argument, importset.DHParameters)
	case "auth_basic_user_file":
		if !strings.Contains(argument, "$") {
			m.write(argument, "alice:{PLAIN}secret\n")
		}
	case "root", "alias":
		m.addSite(argument)
		m.shareSite(argument)
	case "server", "proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass":
		if _, socket, found := strings.Cut(argument, "unix:"); found {
			socket, _, _ = strings.Cut(socket, ":")
			m.serveSocket(socket)
		}
	}
}

// portAtEnd matches the port or the ports of a listen directive.
var portAtEnd = regexp.MustCompile(`(?:^|:)(\d+)(?:-(\d+))?$`)

func (m *machine) addListens(argument string) {
	m.t.Helper()
	if socket, found := strings.CutPrefix(argument, "unix:"); found {
		m.makeWritable(path.Dir(socket))
		return
	}
	found := portAtEnd.FindStringSubmatch(argument)
	if found == nil {
		m.listens[80] = true
		return
	}
	first, err := strconv.Atoi(found[1])
	must(m.t, err)
	m.listens[first] = true
	if found[2] != "" {
		last, err := strconv.Atoi(found[2])
		must(m.t, err)
		for port := first; port <= last; port++ {
			m.listens[port] = true
		}
	}
}

// pages are files of each folder of content.
var pages = []string{"index.html", "index.php", "404.html", "50x.html", "favicon.ico", "robots.txt", "style.css", "deeper/page.html", ".git/config"}

// addSite puts files into a folder of content.
func (m *machine) addSite(folder string) {
	m.t.Helper()
	if strings.Contains(folder, "$") || folder == "/" || folder == "" {
		return
	}
	if !path.IsAbs(folder) {
		folder = path.Join("/usr/share/nginx", folder)
	}
	if info, err := os.Stat(m.locate(folder)[0]); err == nil && !info.IsDir() || m.writable[folder] != "" {
		return
	}
	for _, page := range pages {
		m.write(path.Join(folder, page), fmt.Sprintf("%s in %s\n", page, folder))
	}
}

// shareSite does the step of a review that provides the content of a folder: an import has no other files beside its
// configuration.
func (m *machine) shareSite(folder string) {
	m.t.Helper()
	if from := m.locate(folder)[0]; strings.HasPrefix(from, m.conf+"/") {
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			link(m.t, from, filepath.Join(m.root, "etc/nginx", strings.TrimPrefix(from, m.conf)))
		}
	}
}
