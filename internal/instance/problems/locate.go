package problems

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// directiveNamePattern matches what may be the name of a directive in nginx's message: a quoted word, or one
// of several parts.
var directiveNamePattern = regexp.MustCompile(`"[a-z][a-z0-9_]*"|[a-z][a-z0-9]*(?:_[a-z0-9]+)+`)

// Locate replaces the position of a problem with that of the user's directive if nginx names a line
// of a generated file or the end of a block. nginx checks some directives against each other at the
// end of a block, such as connection_pool_size against large_client_header_buffers.
func Locate(found []instanceapi.Problem, files map[string]string, generated func(file string) bool) []instanceapi.Problem {
	var placed map[string][]place
	for i, p := range found {
		if _, known := files[p.File]; !known || !generated(p.File) && !endsBlock(files[p.File], p.Line) {
			continue
		}
		if placed == nil {
			placed = directivePositions(files, generated)
		}
		for _, name := range directiveNamePattern.FindAllString(p.Message, -1) {
			places := placed[strings.Trim(name, `"`)]
			// In a user's file, the end of the block is better than one of several directives.
			if len(places) > 0 && (generated(p.File) || len(places) == 1) {
				found[i].File, found[i].Line = places[0].file, places[0].line
				break
			}
		}
	}
	return found
}

// place is the position of a directive.
type place struct {
	file string
	line int
}

// directivePositions returns the positions of the user's directives, by name.
func directivePositions(files map[string]string, generated func(file string) bool) map[string][]place {
	placed := map[string][]place{}
	var add func(file string, all []*syntax.Directive)
	add = func(file string, all []*syntax.Directive) {
		for _, d := range all {
			placed[d.Name] = append(placed[d.Name], place{file, d.Line})
			add(file, d.Block)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !generated(name) && strings.HasSuffix(name, ".conf") {
			add(name, syntax.Scan(files[name]))
		}
	}
	return placed
}

// endsBlock reports whether a line of a text begins with the end of a block.
func endsBlock(text string, line int) bool {
	for number := 1; ; number++ {
		current, rest, more := strings.Cut(text, "\n")
		if number == line {
			return strings.HasPrefix(strings.TrimSpace(current), "}")
		}
		if !more {
			return false
		}
		text = rest
	}
}
