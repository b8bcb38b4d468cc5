package site

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"example.com/nginx-operator/hack/site/internal/document"
)

// maxSource is the size up to which the site shows a file.
const maxSource = 1 << 20

// source is a file or folder that pages link to, and that is not a page.
type source struct {
	path string
	// entries are the contents of a folder; nil: it is a file.
	entries []Entry
	text    []byte
}

// addSources reads the files and folders that pages link to, and all that is in these folders.
func (s *Site) addSources() error {
	for _, page := range s.Pages {
		for _, link := range page.Links {
			to, err := s.resolve(page, link)
			if err != nil || to.path == "" {
				continue
			}
			if err := s.addSource(to.path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Site) addSource(name string) error {
	if s.Pages[name] != nil || s.sources[name] != nil {
		return nil
	}
	info, err := os.Stat(s.file(name))
	if err != nil {
		return err
	}
	if info.IsDir() {
		return s.addFolder(name)
	}
	added := &source{path: name}
	s.sources[name] = added
	if isImage(name) || info.Size() <= maxSource {
		added.text, err = os.ReadFile(s.file(name))
	}
	return err
}

func (s *Site) addFolder(name string) error {
	added := &source{path: name}
	s.sources[name] = added
	entries, err := os.ReadDir(s.file(name))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		inside := path.Join(name, entry.Name())
		if err := s.addSource(inside); err != nil {
			return err
		}
		title := entry.Name()
		if entry.IsDir() {
			title += "/"
		}
		added.entries = append(added.entries, Entry{title, inside})
	}
	slices.SortStableFunc(added.entries, func(a, b Entry) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return nil
}

// html returns a folder as a list, and a file as code.
func (s *Site) html(from *source) (template.HTML, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "<h1><code>%s</code></h1>\n", template.HTMLEscapeString(from.path))
	switch {
	case from.entries != nil:
		out.WriteString("<ul>\n")
		for _, entry := range from.entries {
			href := relative(s.address(from.path), s.address(entry.Path))
			fmt.Fprintf(&out, "<li><a href=\"%s\"><code>%s</code></a></li>\n", template.HTMLEscapeString(href), template.HTMLEscapeString(entry.Title))
		}
		out.WriteString("</ul>\n")
	case len(from.text) == 0 || !utf8.Valid(from.text):
		out.WriteString("<p>The file has no text, or more than this site shows. It is in the repository.</p>\n")
	default:
		code, err := document.Highlight(document.LanguageOf(path.Base(from.path)), string(from.text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", from.path, err)
		}
		out.WriteString(code)
	}
	return template.HTML(out.String()), nil
}
