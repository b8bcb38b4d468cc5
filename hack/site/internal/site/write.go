package site

import (
	"bytes"
	"embed"
	"html/template"
	"os"
	"path/filepath"
	"slices"

	"example.com/nginx-operator/hack/site/internal/document"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html.tmpl"))

// view is what the layout shows.
type view struct {
	Title, Version string
	// Base leads from the page to the root of the site.
	Base          string
	Navigation    []viewGroup
	Contents      []document.Heading
	Main          template.HTML
	Before, After *viewEntry
}

type viewGroup struct {
	Title   string
	Entries []viewEntry
}

type viewEntry struct {
	Title, Href string
	Current     bool
}

// Files returns the files of the site by their address.
func (s *Site) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	if err := s.addSources(); err != nil {
		return nil, err
	}
	for name, page := range s.Pages {
		content, err := s.page(page)
		if err != nil {
			return nil, err
		}
		files[s.address(name)] = content
	}
	for name, from := range s.sources {
		content := from.text
		if !isImage(name) {
			main, err := s.html(from)
			if err != nil {
				return nil, err
			}
			if content, err = s.render(name, view{Title: name, Main: main}); err != nil {
				return nil, err
			}
		}
		files[s.address(name)] = content
	}
	return files, s.addAssets(files)
}

func (s *Site) addAssets(files map[string][]byte) error {
	colors, err := document.Colors()
	if err != nil {
		return err
	}
	for _, name := range []string{"style.css", "search.js", "page.js"} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		files["assets/"+name] = text
	}
	files["assets/style.css"] = slices.Concat(files["assets/style.css"], []byte(colors))
	files["assets/search-index.js"], err = s.index()
	return err
}

// page returns the HTML of a document.
func (s *Site) page(page *document.Document) ([]byte, error) {
	html, err := page.HTML(func(l document.Link) string { return s.href(page, l) })
	if err != nil {
		return nil, err
	}
	v := view{Title: page.Title(), Main: template.HTML(html)}
	for _, h := range page.Headings {
		if h.Level == 2 || h.Level == 3 {
			v.Contents = append(v.Contents, h)
		}
	}
	before, after := s.adjacent(page.Path)
	v.Before, v.After = s.viewEntry(page.Path, before), s.viewEntry(page.Path, after)
	return s.render(page.Path, v)
}

// render fills in the layout for a page or source.
func (s *Site) render(name string, v view) ([]byte, error) {
	v.Version = s.Version
	v.Base = relative(s.address(name), ".")
	current := s.current(name)
	for _, group := range s.navigation {
		shown := viewGroup{Title: group.Title}
		for _, entry := range group.Entries {
			e := s.viewEntry(name, &entry)
			e.Current = entry.Path == current
			shown.Entries = append(shown.Entries, *e)
		}
		v.Navigation = append(v.Navigation, shown)
	}
	var out bytes.Buffer
	err := layout.Execute(&out, v)
	return out.Bytes(), err
}

func (s *Site) viewEntry(from string, e *Entry) *viewEntry {
	if e == nil {
		return nil
	}
	return &viewEntry{Title: e.Title, Href: relative(s.address(from), s.address(e.Path))}
}

// Write writes the site to a folder, which it empties first.
func Write(out string, files map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
