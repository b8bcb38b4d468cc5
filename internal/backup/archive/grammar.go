package archive

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// section is a part of an archive. The constants are in the order of the format.
type section int

const (
	infoSection section = iota
	applicationSection
	configMapSection
	requestedSection
	servedSection
	revisionSection
	contentSection
	secretSection
	manifestSection
)

const (
	infoName     = "backup.json"
	manifestName = "manifest.jsonl"
	secretPrefix = "secrets/"
	secretSuffix = ".age"
)

// tempName is the temporary name of a file during a restore. An interrupted restore can leave one
// in a directory; it is not content.
const tempName = ".nginx-operator-restore"

// place is the location of a path in the format.
type place struct {
	section section
	// index is the index of the content volume.
	index int
	// rest is the path below the section's folder. It is empty for the root of a content volume.
	rest string
}

func (p place) document() bool {
	return p.section > infoSection && p.section < contentSection
}

// after reports whether p comes after q in an archive.
func (p place) after(q place) bool {
	return cmp.Or(cmp.Compare(p.section, q.section), cmp.Compare(p.index, q.index), compareTree(p.rest, q.rest)) > 0
}

// compareTree orders paths like a walk through sorted directories: the entries of a directory
// follow it directly, before other names that begin with its name.
func compareTree(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rank(a[i]), rank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// rank orders the slash before all other characters of a name.
func rank(c byte) byte {
	if c == '/' {
		return 0
	}
	return c
}

// folder is the folder of a section.
type folder struct {
	section        section
	prefix, suffix string
	flat           bool
}

var folders = []folder{
	{configMapSection, ConfigMapsFolder, ".yaml", true},
	{requestedSection, "config/asked/", "", false},
	{servedSection, "config/served/", "", false},
	{revisionSection, "revisions/", ".yaml", true},
	{secretSection, secretPrefix, secretSuffix, true},
}

func locate(name string) (place, error) {
	switch name {
	case infoName:
		return place{section: infoSection}, nil
	case ApplicationPath:
		return place{section: applicationSection}, nil
	case manifestName:
		return place{section: manifestSection}, nil
	}
	if rest, ok := strings.CutPrefix(name, "content/"); ok {
		return locateContent(rest)
	}
	for _, f := range folders {
		if rest, ok := strings.CutPrefix(name, f.prefix); ok {
			return f.locate(rest)
		}
	}
	return place{}, fmt.Errorf("format %d has no such entry", Format)
}

func (f folder) locate(rest string) (place, error) {
	base, ok := strings.CutSuffix(rest, f.suffix)
	switch {
	case base == "" || !ok || f.flat && strings.Contains(base, "/"):
		return place{}, fmt.Errorf("%s holds files <name>%s only", f.prefix, f.suffix)
	case f.section == revisionSection && !isNumber(base):
		return place{}, fmt.Errorf("%s holds files <number>%s only", f.prefix, f.suffix)
	}
	return place{section: f.section, rest: rest}, nil
}

func isNumber(s string) bool {
	number, err := strconv.ParseInt(s, 10, 64)
	return err == nil && number >= 0 && strconv.FormatInt(number, 10) == s
}

func locateContent(rest string) (place, error) {
	number, rest, _ := strings.Cut(rest, "/")
	index, err := strconv.ParseUint(number, 10, 31)
	if err != nil || strconv.FormatUint(index, 10) != number {
		return place{}, fmt.Errorf("%s is not the index of a content volume", clip(number))
	}
	return place{section: contentSection, index: int(index), rest: rest}, nil
}

// checkPath refuses paths that other readers could interpret differently, or that lead out of the
// archive.
func checkPath(name string, limits Limits) error {
	switch {
	case name == "":
		return fmt.Errorf("its path is empty")
	case len(name) > limits.PathLength:
		return beyond("its path has %d bytes: at most %d are allowed", len(name), limits.PathLength)
	case !utf8.ValidString(name):
		return fmt.Errorf("its path is not UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("its path has control characters")
	case strings.Contains(name, `\`):
		return fmt.Errorf("its path has a backslash")
	case name[0] == '/':
		return fmt.Errorf("its path is absolute")
	case strings.Count(name, "/") > limits.Depth+2: // content/<index>/ precedes the path in the volume
		return beyond("it is more than %d directories deep", limits.Depth)
	}
	return checkNames(name)
}

func checkNames(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return fmt.Errorf("its path has %q, which leads out of its directory", part)
		case part == "." || part == "":
			return fmt.Errorf("its path is not in its shortest form")
		case len(part) > nameLength:
			return fmt.Errorf("its path has a name of %d bytes: at most %d are allowed", len(part), nameLength)
		case part == tempName:
			return fmt.Errorf("the name %s is reserved for restoring", tempName)
		}
	}
	return nil
}

// checkTarget makes sure that a link stays in its volume, whatever other links exist. A name before
// a ".." could be a link to somewhere else, so ".." may only come first: there it goes up from the
// link's own directory, which is a real one.
func checkTarget(at place, target string, limits Limits) error {
	switch {
	case target == "":
		return fmt.Errorf("it is a link without a target")
	case len(target) > limits.PathLength:
		return beyond("its target is longer than %d bytes", limits.PathLength)
	case target[0] == '/':
		return fmt.Errorf("it is a link to the absolute path %s", clip(target))
	case !utf8.ValidString(target) || strings.ContainsFunc(target, unicode.IsControl) || strings.Contains(target, `\`):
		return fmt.Errorf("its target %s has control characters or backslashes, or is not UTF-8", clip(target))
	}
	up, named := 0, false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if named {
				return fmt.Errorf("its target %s has '..' after a name", clip(target))
			}
			up++
		default:
			named = true
		}
	}
	if up > strings.Count(at.rest, "/") {
		return fmt.Errorf("it is a link to %s, which leaves its volume", clip(target))
	}
	return nil
}
