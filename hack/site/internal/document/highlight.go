package document

import (
	"bytes"
	"fmt"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
)

// formatter writes classes only, because the policy of the pages forbids inline styles.
var formatter = html.New(html.WithClasses(true), html.WithPreWrapper(scrolling{}))

// scrolling is a block of code that can be scrolled by keyboard.
type scrolling struct{}

func (scrolling) Start(bool, string) string { return `<pre class="chroma" tabindex="0"><code>` }
func (scrolling) End(bool) string           { return "</code></pre>\n" }

// Highlight returns code as HTML with a class for each kind of token. A language without a lexer is plain text.
func Highlight(language, code string) (string, error) {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = formatter.Format(&out, styles.Fallback, tokens)
	return out.String(), err
}

// LanguageOf returns the name of the language of a file; empty: none is known.
func LanguageOf(name string) string {
	if lexer := lexers.Match(name); lexer != nil {
		return lexer.Config().Name
	}
	return ""
}

// Colors returns the style sheet of highlighted code, for light and dark.
func Colors() (string, error) {
	var out bytes.Buffer
	for _, scheme := range []struct{ name, style string }{{"light", "github"}, {"dark", "github-dark"}} {
		fmt.Fprintf(&out, "@media (prefers-color-scheme: %s) {\n", scheme.name)
		if err := formatter.WriteCSS(&out, styles.Get(scheme.style)); err != nil {
			return "", err
		}
		out.WriteString("}\n")
	}
	return out.String(), nil
}
