package syntax

import (
	"path"
	"slices"
)

// maxVisits bounds a walk: the visits multiply if files include others twice at several levels.
const maxVisits = 200_000

// Tree is a set of files that include each other.
type Tree struct {
	dir   string
	files map[string][]*Directive
	names []string
}

// NewTree scans files. Their keys are their absolute paths, and relative includes are relative to
// dir.
func NewTree(dir string, files map[string]string) Tree {
	t := Tree{dir: dir, files: make(map[string][]*Directive, len(files))}
	for name, text := range files {
		t.files[name] = Scan(text)
		t.names = append(t.names, name)
	}
	// nginx also sorts the files that match a pattern.
	slices.Sort(t.names)
	return t
}

// Visit is a directive in the context in which nginx reads it.
type Visit struct {
	*Directive
	// File is the file that contains the directive.
	File string
	// Context are the enclosing blocks, the outermost first, across includes.
	Context []*Directive
	// Loop is set for an include of a file that is already being read.
	Loop bool
}

// In reports whether the enclosing blocks have exactly these names.
func (v Visit) In(names ...string) bool {
	return slices.EqualFunc(v.Context, names, func(d *Directive, name string) bool { return d.Name == name })
}

// TopBlockIs reports whether the outermost block has the name.
func (v Visit) TopBlockIs(name string) bool {
	return len(v.Context) > 0 && v.Context[0].Name == name
}

// Block returns the innermost block, or nil at the top level.
func (v Visit) Block() *Directive {
	if len(v.Context) == 0 {
		return nil
	}
	return v.Context[len(v.Context)-1]
}

// Walk visits the directives of a file and of the files that it includes, in nginx's order. It
// visits a block before its content.
func (t Tree) Walk(file string, visit func(Visit)) {
	w := walk{Tree: t, visit: visit, left: maxVisits}
	w.file(file, nil, nil)
}

type walk struct {
	Tree
	visit func(Visit)
	left  int
}

func (w *walk) file(name string, reading []string, context []*Directive) {
	w.block(name, w.files[name], append(slices.Clip(reading), name), context)
}

func (w *walk) block(file string, block []*Directive, reading []string, context []*Directive) {
	for _, d := range block {
		if w.left--; w.left < 0 {
			return
		}
		included := w.included(d)
		loop := slices.ContainsFunc(included, func(name string) bool { return slices.Contains(reading, name) })
		w.visit(Visit{Directive: d, File: file, Context: context, Loop: loop})
		if d.Opens {
			w.block(file, d.Block, reading, append(slices.Clip(context), d))
		}
		if loop || len(reading) > maxDepth {
			continue
		}
		for _, name := range included {
			w.file(name, reading, context)
		}
	}
}

func (w *walk) included(d *Directive) []string {
	if d.Name != "include" || len(d.Args) != 1 {
		return nil
	}
	pattern := d.Args[0]
	if !path.IsAbs(pattern) {
		pattern = path.Join(w.dir, pattern)
	}
	var names []string
	for _, name := range w.names {
		if matched, err := path.Match(pattern, name); name == pattern || (err == nil && matched) {
			names = append(names, name)
		}
	}
	return names
}
