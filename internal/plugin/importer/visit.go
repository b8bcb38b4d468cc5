package importer

import (
	"fmt"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// maxVisits bounds how often directives are visited: files can include others many times.
const maxVisits = 200_000

// visit is a directive in the context in which nginx reads it.
type visit struct {
	*syntax.Directive
	file *file
	// context are the enclosing blocks, the outermost first, across includes.
	context []*syntax.Directive
}

// in reports whether the enclosing blocks have exactly these names.
func (v visit) in(names ...string) bool {
	return slices.EqualFunc(v.context, names, func(d *syntax.Directive, name string) bool { return d.Name == name })
}

// block returns the innermost block, or nil at the top level.
func (v visit) block() *syntax.Directive {
	if len(v.context) == 0 {
		return nil
	}
	return v.context[len(v.context)-1]
}

// top returns the name of the outermost block.
func (v visit) top() string {
	if len(v.context) == 0 {
		return ""
	}
	return v.context[0].Name
}

// arg returns an argument, or "".
func (v visit) arg(i int) string {
	if i >= len(v.Args) {
		return ""
	}
	return v.Args[i]
}

// replaceArg replaces an argument by a word.
func (v visit) replaceArg(i int, word string) {
	if words := v.file.words(v.Directive); i+1 < len(words) {
		v.file.replace(words[i+1], quoted(word))
	}
}

// replace replaces the whole directive by statements, none for "". It leaves one that wrongly opens a block for nginx to
// refuse: without it, the content of the block would become part of the context around it.
func (v visit) replace(statements string) {
	if v.Opens {
		return
	}
	v.file.replace(syntax.Span{Start: v.Start, End: v.End}, statements)
}

// inServer reports whether it is in a block of the http context where nginx can answer a request.
func (v visit) inServer() bool {
	block := v.block()
	return block != nil && v.top() == "http" && slices.Contains([]string{"server", "location", "if"}, block.Name)
}

// text returns the directive on one line, as it is written.
func (v visit) text() string {
	const most = 90
	text := strings.Join(strings.Fields(strings.TrimRight(v.file.text[v.Start:v.End], ";{ \t\r\n")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// dataBlocks are the blocks whose entries are no directives, apart from include.
var dataBlocks = []string{"types", "map", "geo", "split_clients", "charset_map", "match", "geoip2"}

// isEntry reports whether it is an entry of a block of data, whose name means nothing.
func (v visit) isEntry() bool {
	return v.block() != nil && slices.Contains(dataBlocks, v.block().Name) && (v.Name != "include" || v.block().Name == "types" && len(v.Args) != 1)
}

// walk visits the directives of a file and of those that it includes, in nginx's order.
func (c *conf) walk(f *file, reading []*file, context []*syntax.Directive) error {
	reading = append(slices.Clip(reading), f)
	return c.walkBlock(f, f.directives, reading, context)
}

func (c *conf) walkBlock(f *file, block []*syntax.Directive, reading []*file, context []*syntax.Directive) error {
	for _, d := range block {
		if c.visits++; c.visits > maxVisits {
			return fmt.Errorf("the configuration has more than %d directives, with those of files that are included repeatedly", maxVisits)
		}
		v := visit{Directive: d, file: f, context: context}
		if err := c.visit(v, reading); err != nil {
			return err
		}
		if d.Opens {
			if err := c.walkBlock(f, d.Block, reading, append(slices.Clip(context), d)); err != nil {
				return err
			}
		}
	}
	return nil
}
