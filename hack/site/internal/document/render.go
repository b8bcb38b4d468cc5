package document

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// nodes renders the nodes that the site shows in another way than goldmark.
type nodes struct{}

func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(ast.KindHTMLBlock, renderNothing)
	r.Register(ast.KindRawHTML, renderBreak)
	r.Register(extensionast.KindTable, renderTable)
}

// renderHeading adds a link to the heading itself.
func renderHeading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	id, _ := n.AttributeString("id")
	anchor := util.EscapeHTML(id.([]byte))
	if entering {
		_, err := fmt.Fprintf(w, "<h%d id=\"%s\">", n.Level, anchor)
		return ast.WalkContinue, err
	}
	_, err := fmt.Fprintf(w, " <a class=\"anchor\" href=\"#%s\" aria-label=\"Link to this section\">#</a></h%d>\n", anchor, n.Level)
	return ast.WalkContinue, err
}

// renderTable puts a table into a region that scrolls on narrow screens, also by keyboard.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n"
	if !entering {
		text = "</table></div>\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

func renderCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.FencedCodeBlock)
	html, err := Highlight(string(n.Language(source)), blockText(n, source))
	if err == nil {
		_, err = w.WriteString(html)
	}
	return ast.WalkSkipChildren, err
}

// renderNothing leaves out comments, which are for the tests of the documents.
func renderNothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func renderBreak(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	var err error
	if entering && isBreak(strings.TrimSpace(string(node.(*ast.RawHTML).Segments.Value(source)))) {
		_, err = w.WriteString("<br>")
	}
	return ast.WalkSkipChildren, err
}
