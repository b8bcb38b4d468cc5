package assemble

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// change replaces the bytes from start to end by text without a line break.
type change struct {
	start, end int
	text       string
}

// changes of files, by name and start. What is included twice is changed once.
type changes map[string]map[int]change

func (c changes) add(v syntax.Visit, ch change) {
	if c[v.File] == nil {
		c[v.File] = map[int]change{}
	}
	c[v.File][ch.start] = ch
}

// insert puts text right behind a directive.
func (c changes) insert(v syntax.Visit, text string) {
	c.add(v, change{start: v.End, end: v.End, text: text})
}

func (c changes) replace(v syntax.Visit, text string) {
	c.add(v, change{start: v.Start, end: v.End, text: text})
}

// edits are the changes inside the user's files. A statement that opens a block where it must not is left
// to nginx, which says so: without it, what is in the block would stand for itself.
func (f *findings) edits(s Settings) changes {
	c := changes{}
	for _, name := range []string{"daemon", "pid"} {
		for _, v := range f.main[name] {
			if !v.Opens {
				c.replace(v, "")
			}
		}
	}
	for _, v := range f.main["worker_processes"] {
		if v.Is("worker_processes", "auto") && !v.Opens {
			c.replace(v, "worker_processes "+strconv.Itoa(s.Workers)+";")
		}
	}
	if f.http != nil {
		c.insert(*f.http, " include "+httpFile+";")
	}
	if s.RequestMetrics {
		f.logRequests(c, s)
	}
	return c
}

// logRequests adds the request metrics' log wherever the user's own access logs would
// override that of the http level: once in each block. Included files come first,
// as a block that includes one has its log already.
func (f *findings) logRequests(c changes, s Settings) {
	logged := map[*syntax.Directive]bool{}
	for _, included := range []bool{true, false} {
		for _, v := range f.logs {
			if fromInclude(v) != included || v.Is("access_log", "off") || logged[v.Block()] {
				continue
			}
			logged[v.Block()] = true
			c.insert(v, " "+accessLog(s)+";")
		}
	}
}

// fromInclude tells whether the directive stands in a file that its block includes.
func fromInclude(v syntax.Visit) bool {
	return !slices.Contains(v.Block().Block, v.Directive)
}

// edit applies changes. A replaced text keeps its line breaks, so no line moves.
func edit(user map[string]string, all changes) map[string]string {
	files := maps.Clone(user)
	for name, c := range all {
		text := user[name]
		var b strings.Builder
		at := 0
		for _, start := range slices.Sorted(maps.Keys(c)) {
			b.WriteString(text[at:start])
			b.WriteString(c[start].text)
			b.WriteString(strings.Repeat("\n", strings.Count(text[start:c[start].end], "\n")))
			at = c[start].end
		}
		b.WriteString(text[at:])
		files[name] = b.String()
	}
	return files
}
