package archive

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// section is a part of an archive. They come in this order.
type section int

const (
	infoSection section = iota
	applicationSection
	configMapSection
	askedSection
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

// tempName is what a file is called while it is restored. An interrupted restore can leave
// one in a directory; it is nobody's content.
const tempName = ".nginx-operator-restore"

// place is where a path belongs.
type place struct {
	section section
	// index of the content volume.
	index int
	// rest of the path, below the section's folder; of a content volume's root: empty.
	rest string
}

func (p place) document() bool {
	return p.section > infoSection && p.section < contentSection
}

// after tells whether an entry comes later in an archive.
func (p place) after(q place) bool {
	return cmp.Or(cmp.Compare(p.section, q.section), cmp.Compare(p.index, q.index), compareTree(p.rest, q.rest)) > 0
}

// compareTree orders paths as a walk through sorted directories meets them: a directory's
// entries follow it at once, whatever else begins with its name.
func compareTree(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rank(a[i]), rank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// rank puts the slash before everything that a name can have.
func rank(c byte) byte {
	if c == '/' {
		return 0
	}
	return c
}

// folder is that of a section.
type folder struct {
	section        section
	prefix, suffix string
	flat           bool
}

var folders = []folder{
	{configMapSection, ConfigMapsFolder, ".yaml", true},
	{askedSection, "config/asked/", "", false},
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
		return place{}, fmt.Errorf("%s is no index of a content volume", clip(number))
	}
	return place{section: contentSection, index: int(index), rest: rest}, nil
}

// checkPath refuses paths that could mean something else to another reader, or that lead
// somewhere else.
func checkPath(name string, limits Limits) error {
	switch {
	case name == "":
		return fmt.Errorf("its path is empty")
	case len(name) > limits.PathLength:
		return beyond("its path has %d bytes, %d are possible", len(name), limits.PathLength)
	case !utf8.ValidString(name):
		return fmt.Errorf("its path is not UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("its path has control characters")
	case strings.Contains(name, `\`):
		return fmt.Errorf("its path has a backslash")
	case name[0] == '/':
		return fmt.Errorf("its path is absolute")
	case strings.Count(name, "/") > limits.Depth+2: // content/<index>/ comes before the volume's own
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
			return fmt.Errorf("its path has a name of %d bytes, %d are possible", len(part), nameLength)
		case part == tempName:
			return fmt.Errorf("the name %s is reserved for restoring", tempName)
		}
	}
	return nil
}

// checkTarget makes sure that a link stays in its volume, whatever other links there are.
// Names after which a ".." comes could be links to elsewhere, so only leading ones are
// possible: they go up from the link's own directory, which is a real one.
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
				return fmt.Errorf("its target %s goes up again after a name", clip(target))
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
