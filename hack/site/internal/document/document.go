// Package document parses a Markdown page and renders it as HTML.
package document

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Document is a parsed page.
type Document struct {
	// Path is relative to the root of the repository, with slashes.
	Path     string
	Headings []Heading
	Links    []Link
	// Problems are what the site cannot show as GitHub does, with file and line.
	Problems []string
	source   []byte
	root     ast.Node
}

// Heading is a heading of a page.
type Heading struct {
	Level        int
	Text, Anchor string
	line         int
}

// Link is a link or an image of a page.
type Link struct {
	Line   int
	Target string
	Image  bool
	// Text is what a reader sees.
	Text string
	node ast.Node
}

// markdown is the Markdown of GitHub, as far as the documents use it.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 100))),
)

// Parse parses a page. HTML other than comments and line breaks is a problem: it is not rendered.
func Parse(path string, source []byte) *Document {
	d := &Document{Path: path, source: source, root: markdown.Parser().Parse(text.NewReader(source))}
	anchors := map[string]int{}
	// The walk ends at the end of the page only: the function returns no error.
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			h := Heading{Level: n.Level, Text: d.text(n), line: d.line(n.Pos())}
			h.Anchor = unique(anchors, slug(h.Text))
			n.SetAttributeString("id", []byte(h.Anchor))
			d.Headings = append(d.Headings, h)
		case *ast.Link:
			d.Links = append(d.Links, Link{Line: d.line(n.Pos()), Target: string(n.Destination), Text: d.text(n), node: n})
		case *ast.Image:
			d.Links = append(d.Links, Link{Line: d.line(n.Pos()), Target: string(n.Destination), Text: d.text(n), Image: true, node: n})
		case *ast.HTMLBlock:
			d.checkHTML(n.Pos(), blockText(n, d.source))
		case *ast.RawHTML:
			d.checkHTML(n.Pos(), string(n.Segments.Value(d.source)))
		}
		return ast.WalkContinue, nil
	})
	if d.Title() == "" {
		d.Problems = append(d.Problems, path+":1: begin the page with a heading of level 1")
	}
	return d
}

// Title returns the text of the first heading of level 1.
func (d *Document) Title() string {
	for _, h := range d.Headings {
		if h.Level == 1 {
			return h.Text
		}
	}
	return ""
}

// HasAnchor reports whether a heading has an anchor.
func (d *Document) HasAnchor(anchor string) bool {
	for _, h := range d.Headings {
		if h.Anchor == anchor {
			return true
		}
	}
	return false
}

// HTML renders the page. target returns what a link leads to on the site.
func (d *Document) HTML(target func(Link) string) (string, error) {
	for _, l := range d.Links {
		switch n := l.node.(type) {
		case *ast.Link:
			n.Destination = []byte(target(l))
		case *ast.Image:
			n.Destination = []byte(target(l))
		}
	}
	var out bytes.Buffer
	err := markdown.Renderer().Render(&out, d.source, d.root)
	return out.String(), err
}

// line returns the line of a position in the source.
func (d *Document) line(position int) int {
	return 1 + bytes.Count(d.source[:max(0, min(position, len(d.source)))], []byte("\n"))
}

// checkHTML finds HTML that the site does not show as GitHub does.
func (d *Document) checkHTML(position int, html string) {
	html = strings.TrimSpace(html)
	if !strings.HasPrefix(html, "<!--") && !isBreak(html) {
		d.Problems = append(d.Problems, fmt.Sprintf("%s:%d: write %s as code, or in Markdown: HTML is not shown", d.Path, d.line(position), html))
	}
}

func isBreak(html string) bool { return html == "<br />" || html == "<br>" }

// text returns the text of a node as a reader sees it.
func (d *Document) text(n ast.Node) string {
	var b strings.Builder
	appendText(&b, n, d.source)
	return strings.Join(strings.Fields(b.String()), " ")
}

func appendText(b *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		b.Write(n.Value(source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte(' ')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(source))
	case *ast.RawHTML:
		b.WriteByte(' ')
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		b.WriteString(blockText(n, source))
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		appendText(b, child, source)
		if child.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
	}
}

// blockText returns the lines of a block.
func blockText(n ast.Node, source []byte) string { return string(n.Lines().Value(source)) }
