// Package importset finds the configurations of public repositories, and derives the requests that compare one with its
// import.
package importset

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"example.com/nginx-operator/internal/instance/syntax"
)

var (
	// configuration matches names of files that may be a configuration.
	configuration = regexp.MustCompile(`\.conf(\.(sample|example|dist|default))?$|(sites-(available|enabled)|snippets|apps?|conf\.d)/[^/]*$`)
	// template matches marks of templates of other programs.
	template = regexp.MustCompile(`\{\{|\{%|<%|@@|__[A-Z]+__`)
	// whole and known match directives of nginx.
	whole = regexp.MustCompile(`(?m)^\s*(http|events)\s*\{`)
	known = regexp.MustCompile(`(?m)^\s*(server|location|upstream|map|types)\s[^;]*\{|^\s*(listen|proxy_pass|proxy_set_header|add_header|root|ssl_protocols|ssl_certificate|gzip|fastcgi_param|fastcgi_pass|uwsgi_param|rewrite|expires|deny|charset|server_tokens|client_max_body_size)\s[^;]+;`)
)

// Set are the configurations below a folder.
type Set struct {
	// Whole are the files with a whole configuration, and Parts are files that belong into one.
	Whole, Parts []string
	// Templates is the number of files that another program has to fill in.
	Templates int
}

// Find returns the configurations below a folder.
func Find(folder string) (Set, error) {
	var s Set
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !configuration.MatchString(filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		switch {
		case err != nil:
			return err
		case template.Match(text):
			s.Templates++
		case whole.Match(text):
			s.Whole = append(s.Whole, name)
		case known.Match(text):
			s.Parts = append(s.Parts, name)
		}
		return nil
	})
	return s, err
}

// Wrapper returns a whole configuration that includes a part, given the part's text and the name to include, after
// statements of the http block.
func Wrapper(text, name, statements string) string {
	include := "include '" + name + "';"
	if insideServer(text) {
		include = "server { listen 80; " + include + " }"
	}
	return "events {} http {" + statements + " " + include + " }"
}

// insideServer reports whether a text is a part of a server block.
func insideServer(text string) bool {
	for _, d := range syntax.Scan(text) {
		if slices.Contains([]string{"server", "upstream", "map", "geo", "types", "log_format", "limit_req_zone", "proxy_cache_path"}, d.Name) {
			return false
		}
	}
	return true
}
