package site

import (
	"encoding/json"
	"maps"
	"slices"

	"example.com/nginx-operator/hack/site/internal/document"
)

// indexed is a section in the index of the search.
type indexed struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Address string `json:"address"`
	Text    string `json:"text"`
}

// index returns the script with the sections of all pages. A script, unlike data, also loads from a folder.
func (s *Site) index() ([]byte, error) {
	var all []indexed
	for _, name := range slices.Sorted(maps.Keys(s.Pages)) {
		page := s.Pages[name]
		for _, section := range page.Sections() {
			all = append(all, s.indexed(page, section))
		}
	}
	text, err := json.Marshal(all)
	return slices.Concat([]byte("window.searchIndex = "), text, []byte(";\n")), err
}

func (s *Site) indexed(page *document.Document, section document.Section) indexed {
	i := indexed{Page: page.Title(), Heading: section.Text, Address: s.address(page.Path), Text: section.Body}
	if section.Level > 1 {
		i.Address += "#" + section.Anchor
	}
	return i
}
