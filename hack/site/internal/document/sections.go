package document

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Section is a heading and the text below it, up to the next heading.
type Section struct {
	Heading
	Body  string
	Links []Link
}

// Sections returns the sections of the page, for the search.
func (d *Document) Sections() []Section {
	var sections []Section
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			sections = append(sections, Section{Heading: d.Headings[len(sections)]})
			continue
		}
		if len(sections) == 0 {
			continue
		}
		last := &sections[len(sections)-1]
		last.Body = strings.TrimSpace(last.Body + " " + d.text(n))
	}
	for i := range sections {
		sections[i].Links = d.linksBetween(sections, i)
	}
	return sections
}

// linksBetween returns the links of a section.
func (d *Document) linksBetween(sections []Section, i int) []Link {
	var links []Link
	for _, l := range d.Links {
		if l.Line >= sections[i].line && (i+1 == len(sections) || l.Line < sections[i+1].line) {
			links = append(links, l)
		}
	}
	return links
}
