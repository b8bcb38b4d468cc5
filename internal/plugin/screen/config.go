package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/view"
)

// Config shows a configuration, file by file.
func (p Printer) Config(c view.Config) error {
	title := "# " + describe(c)
	if len(c.Pods) > 0 {
		title += ", served by " + strings.Join(c.Pods, ", ")
	}
	if err := p.printf("%s", p.coloured(Safe(title), faint)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if err := p.printf("%s", p.coloured("# --- "+Safe(name), faint)); err != nil {
			return err
		}
		if err := p.lines(c.Files[name]); err != nil {
			return err
		}
	}
	return nil
}

// lines prints a text of several lines.
func (p Printer) lines(text string) error {
	for line := range strings.Lines(text) {
		if err := p.printf("%s", safeLine(line)); err != nil {
			return err
		}
	}
	return nil
}

// safeLine returns a line without its end, with tabs as spaces, and without characters that a terminal would obey.
func safeLine(line string) string {
	return Safe(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
}

// describe names a configuration.
func describe(c view.Config) string {
	if c.Revision == "" {
		return c.Name
	}
	return c.Name + " configuration " + short(c.Revision)
}

// Diff shows how a configuration differs from another one, in the unified format.
func (p Printer) Diff(from, to view.Config) error {
	if view.Same(from, to) {
		return p.printf("%s and %s are the same.", Safe(describe(from)), Safe(describe(to)))
	}
	for _, name := range view.Names(from, to) {
		text := udiff.Unified(from.Name+"/"+name, to.Name+"/"+name, from.Files[name], to.Files[name])
		for line := range strings.Lines(text) {
			if err := p.printf("%s", p.coloured(safeLine(line), toneOf(line))); err != nil {
				return err
			}
		}
	}
	return nil
}

// toneOf returns the tone of a line of a unified diff.
func toneOf(line string) tone {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
		return faint
	case strings.HasPrefix(line, "+"):
		return good
	case strings.HasPrefix(line, "-"):
		return bad
	}
	return plain
}

// Tested shows the outcome of a test in a pod.
func (p Printer) Tested(pod string, tested instanceapi.ConfigTest) error {
	verdict, tone := "passed", good
	if tested.Test != instanceapi.Passed {
		verdict, tone = "refused", bad
	}
	if err := p.printf("%s: %s", Safe(pod), p.coloured(verdict, tone)); err != nil {
		return err
	}
	for _, problem := range tested.Problems {
		if err := p.printf("  %s%s", Safe(place(problem)), Safe(problem.Message)); err != nil {
			return err
		}
	}
	if len(tested.Unread) > 0 {
		return p.printf("  nginx does not read %s: no other file includes them", Safe(strings.Join(tested.Unread, ", ")))
	}
	return nil
}

// place returns where a problem is, such as "site.conf:3: ".
func place(problem instanceapi.Problem) string {
	switch {
	case problem.File == "":
		return ""
	case problem.Line == 0:
		return problem.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", problem.File, problem.Line)
}
