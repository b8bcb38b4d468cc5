package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// change replaces the bytes from start to end with text that has no line break.
type change struct {
	start, end int
	text       string
}

// span is the range of a change. An insertion and a replacement may start at the same offset.
type span struct{ start, end int }

// changes maps file names and ranges to changes. A directive in a file that is included twice is changed once.
type changes map[string]map[span]change

func (c changes) add(v syntax.Visit, ch change) {
	if c[v.File] == nil {
		c[v.File] = map[span]change{}
	}
	c[v.File][span{ch.start, ch.end}] = ch
}

// has reports whether the directive is already being replaced.
func (c changes) has(v syntax.Visit) bool {
	_, known := c[v.File][span{v.Start, v.End}]
	return known
}

// insert adds text directly after a directive.
func (c changes) insert(v syntax.Visit, text string) {
	c.add(v, change{start: v.End, end: v.End, text: text})
}

func (c changes) replace(v syntax.Visit, text string) {
	c.add(v, change{start: v.Start, end: v.End, text: text})
}

// edits returns the changes to the user's files. It leaves a statement that wrongly opens a block for nginx to refuse:
// without the statement, the content of the block would become part of the context around it.
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
		switch {
		case v.Opens:
		case s.DryRun:
			c.replace(v, "worker_processes 1;")
		case v.Is("worker_processes", "auto"):
			c.replace(v, "worker_processes "+strconv.Itoa(s.Workers)+";")
		}
	}
	if s.DryRun {
		f.moveUnixSockets(c, s)
	}
	if f.http != nil {
		c.insert(*f.http, " include "+httpFile+";")
	}
	if s.RequestMetrics {
		f.logRequests(c, s)
	}
	return c
}

// moveUnixSockets gives a dry run its own unix sockets, because nginx cannot bind a socket that exists.
func (f *findings) moveUnixSockets(c changes, s Settings) {
	for i, v := range f.unixListens {
		arguments := append([]string{fmt.Sprintf("unix:%s/%d.sock", s.ownDir(), i)}, v.Args[1:]...)
		c.replace(v, "listen "+strings.Join(arguments, " ")+";")
	}
}

// edit applies changes. A replacement keeps the line breaks of the replaced text, so that no line moves.
func edit(user map[string]string, all changes) map[string]string {
	files := maps.Clone(user)
	for name, c := range all {
		text := user[name]
		var b strings.Builder
		at := 0
		for _, place := range slices.SortedFunc(maps.Keys(c), compareSpans) {
			b.WriteString(text[at:place.start])
			b.WriteString(c[place].text)
			b.WriteString(strings.Repeat("\n", strings.Count(text[place.start:place.end], "\n")))
			at = place.end
		}
		b.WriteString(text[at:])
		files[name] = b.String()
	}
	return files
}

// compareSpans orders an insertion before a replacement that starts at the same offset.
func compareSpans(a, b span) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
}
