// Package site builds the documents of the repository into a static site: pages, the files that they link to, and an index
// for the search.
package site

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/nginx-operator/hack/site/internal/document"
)

const (
	// home is the first page of the site, and contents the one whose lists are its navigation.
	home     = "README.md"
	contents = "docs/README.md"
)

// Site is what the documents of a repository become.
type Site struct {
	// Root is the folder of the repository, and Version the content of its file VERSION.
	Root, Version string
	// Pages are the documents by their path.
	Pages map[string]*document.Document
	// sources are the files and folders that the pages link to, by their path.
	sources    map[string]*source
	navigation []Group
}

// Open reads the documents of the repository in root.
func Open(root string) (*Site, error) {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return nil, err
	}
	paths, err := documents(root)
	if err != nil {
		return nil, err
	}
	s := &Site{Root: root, Version: strings.TrimSpace(string(version)), Pages: map[string]*document.Document{}, sources: map[string]*source{}}
	for _, name := range paths {
		text, err := os.ReadFile(s.file(name))
		if err != nil {
			return nil, err
		}
		s.Pages[name] = document.Parse(name, text)
	}
	for _, name := range []string{home, contents} {
		if s.Pages[name] == nil {
			return nil, fmt.Errorf("the site needs the page %s", name)
		}
	}
	s.navigation = s.groups()
	return s, nil
}

// documents returns the paths of the pages: those of the root, of docs/, and the README of a part of the repository that
// has users of its own.
func documents(root string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"*.md", "charts/*/README.md", "hack/cluster/README.md"} {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		found = append(found, matches...)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			found = append(found, name)
		}
		return err
	})
	for i, name := range found {
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		found[i] = filepath.ToSlash(relative)
	}
	slices.Sort(found)
	return found, err
}

// file returns the path of a file of the repository on this machine.
func (s *Site) file(name string) string { return filepath.Join(s.Root, filepath.FromSlash(name)) }

// address returns where a page, a source or an image is on the site.
func (s *Site) address(name string) string {
	switch {
	case s.Pages[name] == nil && isImage(name):
		return name
	case s.Pages[name] == nil:
		return "source/" + name + ".html"
	case path.Base(name) == "README.md":
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// relative returns the way from one address of the site to another.
func relative(from, to string) string {
	way, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		// Both are paths below the same folder.
		return to
	}
	return filepath.ToSlash(way)
}

func isImage(name string) bool {
	return slices.Contains([]string{".png", ".svg", ".jpg", ".gif", ".webp"}, path.Ext(name))
}
