package site

import (
	"path"
)

// Group is a section of the navigation.
type Group struct {
	Title   string
	Entries []Entry
}

// Entry is a page, or a source, in the navigation.
type Entry struct {
	Title, Path string
}

// groups returns the navigation: the sections of the page of contents, with the links of each in their order.
func (s *Site) groups() []Group {
	page := s.Pages[contents]
	groups := []Group{{Entries: []Entry{{"Overview", home}, {page.Title(), contents}}}}
	for _, section := range page.Sections() {
		group := Group{Title: section.Text}
		for _, link := range section.Links {
			if to, err := s.resolve(page, link); err == nil && to.path != "" && to.anchor == "" {
				group.Entries = append(group.Entries, Entry{link.Text, to.path})
			}
		}
		if len(group.Entries) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// current returns the path of the entry to mark for a page: its own, or that of the overview of its folder.
func (s *Site) current(name string) string {
	for _, candidate := range []string{name, path.Join(path.Dir(name), "README.md")} {
		for _, group := range s.navigation {
			for _, entry := range group.Entries {
				if entry.Path == candidate && (candidate != contents || name == contents) {
					return candidate
				}
			}
		}
	}
	return ""
}

// adjacent returns the pages before and after a page of the navigation.
func (s *Site) adjacent(name string) (before, after *Entry) {
	var order []Entry
	for _, group := range s.navigation {
		for _, entry := range group.Entries {
			if s.Pages[entry.Path] != nil {
				order = append(order, entry)
			}
		}
	}
	for i := range order {
		if order[i].Path != name {
			continue
		}
		if i > 0 {
			before = &order[i-1]
		}
		if i+1 < len(order) {
			after = &order[i+1]
		}
	}
	return before, after
}
