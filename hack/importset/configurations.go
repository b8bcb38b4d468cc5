package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/plugin/importer"
)

const configDir = "/etc/nginx/"

var (
	// configuration matches names of files that may be a configuration.
	configuration = regexp.MustCompile(`\.conf(\.(sample|example|dist|default))?$|(sites-(available|enabled)|snippets|apps?|conf\.d)/[^/]*$`)
	// template matches marks of templates of other programs.
	template = regexp.MustCompile(`\{\{|\{%|<%|@@|__[A-Z]+__`)
	// whole and known match directives of nginx.
	whole = regexp.MustCompile(`(?m)^\s*(http|events)\s*\{`)
	known = regexp.MustCompile(`(?m)^\s*(server|location|upstream|map|types)\s[^;]*\{|^\s*(listen|proxy_pass|proxy_set_header|add_header|root|ssl_protocols|ssl_certificate|gzip|fastcgi_param|fastcgi_pass|uwsgi_param|rewrite|expires|deny|charset|server_tokens|client_max_body_size)\s[^;]+;`)
)

// configurations imports the whole configurations below a folder, and then the files that none of them reads.
func configurations(folder string, t *total) error {
	var roots, others []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !configuration.MatchString(filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		switch {
		case err != nil:
			return err
		case template.Match(text):
			t.skipped++
		case whole.Match(text):
			roots = append(roots, name)
		case known.Match(text):
			others = append(others, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.importAll(roots, others)
	return nil
}

// importAll imports whole configurations, and then the other files that they do not read.
func (t *total) importAll(roots, others []string) {
	read := map[string]bool{}
	for _, name := range roots {
		t.configurations++
		t.importFile(name, read)
	}
	for _, name := range others {
		if !read[name] {
			t.parts++
			t.importPart(name, read)
		}
	}
}

// importFile imports a file with its includes.
func (t *total) importFile(name string, read map[string]bool) {
	dir := filepath.Dir(name)
	source := importer.Folder{Config: os.DirFS(dir)}
	result, err := importer.Config(source, []string{configDir + filepath.Base(name)}, importer.Options{})
	if err != nil {
		t.refuse(name, err)
		return
	}
	t.count(result, source, dir, read)
}

// importPart imports a part of a configuration: as it is, or within a server or a location.
func (t *total) importPart(name string, read map[string]bool) {
	dir := filepath.Dir(name)
	for _, text := range []string{
		"events {} http { include 'FILE'; }",
		"events {} http { server { listen 80; include 'FILE'; } }",
	} {
		main := strings.ReplaceAll(text, "FILE", filepath.Base(name))
		if strings.Contains(text, "server") != insideServer(name) {
			continue
		}
		source := part{importer.Folder{Config: os.DirFS(dir)}, main}
		result, err := importer.Config(source, []string{wrapper}, importer.Options{})
		if err != nil {
			t.refuse(name, err)
			return
		}
		own := func(i importer.Item) bool { return configDir+i.Source == wrapper }
		result.Review.Items = slices.DeleteFunc(result.Review.Items, own)
		t.count(result, source, dir, read)
	}
}

const wrapper = configDir + "wrapper.importset"

// part is a Source with a file that includes the part.
type part struct {
	importer.Folder
	wrapper string
}

// Read implements importer.Source.
func (p part) Read(name string) (string, error) {
	if name == wrapper {
		return p.wrapper, nil
	}
	return p.Folder.Read(name)
}

// insideServer reports whether a file is a part of a server block.
func insideServer(name string) bool {
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	for _, d := range syntax.Scan(string(text)) {
		if slices.Contains([]string{"server", "upstream", "map", "geo", "types", "log_format", "limit_req_zone", "proxy_cache_path"}, d.Name) {
			return false
		}
	}
	return true
}

// count adds a review, and compares it with the statements of the files that it is about.
func (t *total) count(r *importer.Result, source importer.Source, dir string, read map[string]bool) {
	reviewed := map[string]int{}
	for _, i := range r.Review.Items {
		if i.Kind == importer.KindDirective {
			reviewed[i.Source]++
		}
	}
	for name, items := range reviewed {
		text, err := source.Read(configDir + name)
		if err != nil {
			t.refuse(path.Join(dir, name), err)
			continue
		}
		statements := 0
		for range syntax.Statements(text) {
			statements++
		}
		t.lost += max(statements-items, 0)
		t.files++
		read[filepath.Join(dir, filepath.FromSlash(name))] = true
	}
	t.add(dir, r)
}
