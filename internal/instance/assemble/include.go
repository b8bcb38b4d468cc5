package assemble

import (
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// siteFolders are the folders from which the nginx.conf of images and packages includes site configurations.
var siteFolders = []string{
	"/etc/nginx/conf.d", "/etc/nginx/http.d", "/etc/nginx/sites-enabled", "conf.d", "http.d", "sites-enabled",
	"/etc/angie/http.d", "/opt/bitnami/nginx/conf/server_blocks",
}

// includeDeclared extends the include of a site folder by the user's files that match it and that no other file
// includes. A whole nginx.conf is usually a copy of the image's, and the files beside it are meant for its conf.d. They
// precede the image's own files, so that their servers become the default servers.
func includeDeclared(user map[string]string) map[string]string {
	left := notIncluded(user)
	c := changes{}
	syntax.NewTree("", user).Walk(wholeFile, func(v syntax.Visit) {
		if !v.In("http") || v.Name != "include" || len(v.Args) != 1 || !slices.Contains(siteFolders, path.Dir(v.Args[0])) {
			return
		}
		var text strings.Builder
		left = slices.DeleteFunc(left, func(name string) bool {
			matched, err := path.Match(path.Base(v.Args[0]), name)
			if err != nil || !matched {
				return false
			}
			text.WriteString("include " + name + "; ")
			return true
		})
		if text.Len() > 0 {
			c.add(v, change{start: v.Start, end: v.Start, text: text.String()})
		}
	})
	return edit(user, c)
}

// notIncluded returns the user's files for the http context that no other file includes, sorted by name.
func notIncluded(user map[string]string) []string {
	tree := syntax.NewTree("", user)
	included := map[string]bool{wholeFile: true}
	for name := range user {
		if strings.HasSuffix(name, ".conf") {
			tree.Walk(name, func(v syntax.Visit) { included[v.File] = included[v.File] || v.File != name })
		}
	}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(user)) {
		other := strings.HasSuffix(name, ".main.conf") || strings.HasSuffix(name, ".stream.conf") || Generated(name)
		if strings.HasSuffix(name, ".conf") && !included[name] && !other {
			left = append(left, name)
		}
	}
	return left
}
