// Package variables replaces the declared variables in the files of a configuration by their values.
//
// A value is a word of the configuration or a part of one, and never more: no value has a character that ends a quoted
// string, and each word that a value is put into is scanned again.
package variables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Replaced are the files of a configuration with the values.
type Replaced struct {
	Files map[string]string
	// Confidential are the values of Secrets that the files contain, and where.
	Confidential problems.Confidential
	// Problems say which values cannot be used, without showing them.
	Problems []instanceapi.Problem
}

// reference matches a variable. Those of nginx have no capital letters.
var reference = regexp.MustCompile(`\$\{[A-Z_][A-Z0-9_]*\}`)

// maxProblems bounds what is reported, because it becomes a part of a status.
const maxProblems = 5

// limits bounds the JSON of the declared variables, which users who can change ConfigMaps can replace. A configuration has at
// most 64 variables and 16 objects with more.
var limits = boundedjson.Limits{Bytes: nginxconf.MaxTotalBytes, Depth: 4, Items: 256, Values: 4096, String: 64 << 10}

// Replace replaces the variables of a configuration. dir holds the mounted objects; see instanceapi.DirVariables.
// References to variables that are not declared stay.
func Replace(files map[string]string, dir string) (Replaced, error) {
	text, ok := files[instanceapi.FileVariables]
	if !ok {
		return Replaced{Files: files}, nil
	}
	var declared instanceapi.Variables
	if err := limits.Check([]byte(text)); err != nil {
		return Replaced{}, fmt.Errorf("read %s: %w", instanceapi.FileVariables, err)
	}
	if err := json.Unmarshal([]byte(text), &declared); err != nil {
		return Replaced{}, fmt.Errorf("read %s: %w", instanceapi.FileVariables, err)
	}
	r := &replacer{values: newValues(declared, dir), files: files}
	if found := r.tooLarge(); found != nil {
		return Replaced{Files: files, Problems: []instanceapi.Problem{*found}}, nil
	}
	return r.replace(), nil
}

// replacer replaces the variables of all files.
type replacer struct {
	values
	files map[string]string
}

func (r *replacer) replace() Replaced {
	replaced := Replaced{Files: maps.Clone(r.files), Confidential: problems.Confidential{Values: r.secrets(), Lines: map[string][]problems.LineRange{}}}
	found := r.problems
	for _, name := range r.names() {
		f := &file{values: &r.values, name: name, text: r.files[name]}
		f.replace()
		replaced.Files[name] = f.out.String()
		found = append(found, f.problems...)
		if len(f.secret) > 0 {
			replaced.Confidential.Lines[name] = f.secret
		}
	}
	replaced.Problems = found[:min(len(found), maxProblems)]
	return replaced
}

// names returns the sorted names of the files that can refer to variables. In JavaScript, ${NAME} has a meaning of its own.
func (r *replacer) names() []string {
	names := slices.Sorted(maps.Keys(r.files))
	return slices.DeleteFunc(names, func(name string) bool {
		extension := path.Ext(name)
		return strings.HasPrefix(name, nginxconf.ReservedPrefix) || extension == ".js" || extension == ".mjs"
	})
}

// tooLarge returns a problem if the files with the values would be larger than a configuration can be. The size is computed
// before anything is replaced: some hundred KiB of references can become hundreds of MiB in the memory of process 1.
func (r *replacer) tooLarge() *instanceapi.Problem {
	total := 0
	for name, text := range r.files {
		if !strings.HasPrefix(name, nginxconf.ReservedPrefix) {
			total += len(name) + len(text)
		}
	}
	count := map[string]int{}
	for _, name := range r.names() {
		text := r.files[name]
		for at := range references(text, 0, len(text)) {
			if v := r.value(text[at.Start:at.End]); v.usable {
				total += len(v.text) - (at.End - at.Start)
				count[text[at.Start:at.End]]++
			}
		}
	}
	if total <= nginxconf.MaxTotalBytes || len(count) == 0 {
		return nil
	}
	return r.largest(count, total)
}

// largest returns the problem that the values take a number of bytes, most of which are of one variable.
func (r *replacer) largest(count map[string]int, total int) *instanceapi.Problem {
	most := slices.MaxFunc(slices.Sorted(maps.Keys(count)), func(a, b string) int {
		return cmp.Compare(count[a]*len(r.value(a).text), count[b]*len(r.value(b).text))
	})
	v := r.value(most)
	found := &instanceapi.Problem{Message: fmt.Sprintf(
		"%s: the configuration has %d KiB with the values of its variables, and at most %d KiB are allowed: %s stands for %d bytes in %d places: use it in fewer, or mount it as a file",
		v.name, total>>10, nginxconf.MaxTotalBytes>>10, most, len(v.text), count[most])}
	for _, name := range r.names() {
		if at := strings.Index(r.files[name], most); at >= 0 {
			found.File, found.Line = name, lineOf(r.files[name], at)
			break
		}
	}
	return found
}

// references returns where a part of a text refers to variables.
func references(text string, from, to int) iter.Seq[syntax.Span] {
	return func(yield func(syntax.Span) bool) {
		for {
			at := reference.FindStringIndex(text[from:to])
			if at == nil || !yield(syntax.Span{Start: from + at[0], End: from + at[1]}) {
				return
			}
			from += at[1]
		}
	}
}

// lineOf returns the line of an offset.
func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
