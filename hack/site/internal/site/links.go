package site

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"example.com/nginx-operator/hack/site/internal/document"
)

// destination is what a link within the repository leads to.
type destination struct {
	// path is that of a page, a file or a folder; empty: the link leaves the repository.
	path, anchor string
}

// Check returns every link that leads nowhere, every page that no other page links to, and what the site cannot show, with
// file and line. It does not use the network.
func (s *Site) Check() []string {
	var findings []string
	linked := map[string]bool{home: true}
	for _, name := range slices.Sorted(maps.Keys(s.Pages)) {
		page := s.Pages[name]
		findings = append(findings, page.Problems...)
		for _, link := range page.Links {
			to, err := s.resolve(page, link)
			if err != nil {
				findings = append(findings, fmt.Sprintf("%s:%d: %s: %v", name, link.Line, link.Target, err))
				continue
			}
			linked[to.path] = linked[to.path] || to.path != name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Pages)) {
		if !linked[name] {
			findings = append(findings, name+":1: no page links to this page: add it to "+contents)
		}
	}
	return findings
}

// resolve returns what a link of a page leads to, or why it leads nowhere.
func (s *Site) resolve(page *document.Document, link document.Link) (destination, error) {
	target, err := url.Parse(link.Target)
	switch {
	case err != nil:
		return destination{}, fmt.Errorf("it is not a URL: %w", err)
	case link.Target == "":
		return destination{}, fmt.Errorf("the link is empty")
	case target.Scheme != "" || target.Host != "":
		return destination{}, s.checkExternal(target, link.Image)
	case path.IsAbs(target.Path):
		return destination{}, fmt.Errorf("write the path relative to the page")
	}
	to := destination{path: page.Path, anchor: target.Fragment}
	if target.Path != "" {
		to.path = path.Join(path.Dir(page.Path), target.Path)
	}
	return s.existing(to, link.Image)
}

// checkExternal refuses what the policy of the pages blocks.
func (s *Site) checkExternal(target *url.URL, image bool) error {
	if image {
		return fmt.Errorf("a page loads nothing from elsewhere: add the image to the repository")
	}
	if target.Scheme != "https" && target.Scheme != "http" && target.Scheme != "mailto" {
		return fmt.Errorf("the scheme %q is not https, http or mailto", target.Scheme)
	}
	return nil
}

// existing checks that a destination exists. A folder with a page is that page.
func (s *Site) existing(to destination, image bool) (destination, error) {
	if to.path == ".." || strings.HasPrefix(to.path, "../") {
		return destination{}, fmt.Errorf("it leads out of the repository")
	}
	if index := path.Join(to.path, "README.md"); s.Pages[index] != nil {
		to.path = index
	}
	page := s.Pages[to.path]
	if page == nil {
		if _, err := os.Stat(s.file(to.path)); err != nil {
			return destination{}, fmt.Errorf("there is no file %s", to.path)
		}
	}
	switch {
	case image && !isImage(to.path):
		return destination{}, fmt.Errorf("%s is not an image", to.path)
	case to.anchor != "" && page == nil:
		return destination{}, fmt.Errorf("%s is not a page, so it has no anchors", to.path)
	case to.anchor != "" && !page.HasAnchor(to.anchor):
		return destination{}, fmt.Errorf("%s has no heading with the anchor #%s", to.path, to.anchor)
	}
	return to, nil
}

// href returns what a link of a page is on the site.
func (s *Site) href(page *document.Document, link document.Link) string {
	to, err := s.resolve(page, link)
	if err != nil || to.path == "" {
		return link.Target
	}
	href := relative(s.address(page.Path), s.address(to.path))
	if to.path == page.Path && to.anchor != "" {
		href = ""
	}
	if to.anchor != "" {
		href += "#" + to.anchor
	}
	return href
}
