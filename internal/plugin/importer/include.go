package importer

import (
	"path"
	"slices"
	"strings"
)

// imageFiles are files beside the nginx.conf of common images.
var imageFiles = []string{"mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params", "proxy_params", "koi-utf", "koi-win", "win-utf"}

// include follows an include, and replaces its argument by the names that the files have in the application.
func (c *conf) include(v visit, reading []*file) error {
	pattern := locatePath(v.arg(0))
	if len(v.Args) != 1 || v.Opens {
		c.note(v, NotCarried, "an include has one argument and no block; nginx refuses this one")
		return nil
	}
	included, loops, err := c.openIncluded(pattern, reading)
	switch {
	case err != nil:
		return err
	case len(included) > 0:
		c.renameIncluded(v, included)
	case !loops:
		outcome, note := c.includeMissing(v, pattern, isPattern(pattern))
		c.note(v, outcome, note)
		return nil
	}
	if loops {
		c.note(v, NotCarried, "the file includes itself; nginx refuses that")
	}
	for _, f := range included {
		if err := c.walk(f, reading, v.context); err != nil {
			return err
		}
	}
	return nil
}

func isPattern(path string) bool { return strings.ContainsAny(path, "*?[") }

// openIncluded opens the files that match a path or a pattern, apart from those that are being read.
func (c *conf) openIncluded(pattern string, reading []*file) (included []*file, loops bool, err error) {
	paths := []string{pattern}
	if isPattern(pattern) {
		paths = c.source.Glob(pattern)
	}
	for _, p := range paths {
		f, err := c.open(p)
		switch {
		case missing(err) && isPattern(pattern):
			c.review.add(Item{Source: shown(p), Subject: "the whole file", Kind: KindFile, Outcome: NotCarried, Note: "it is a link to a file that the input lacks"})
			c.review.step("%s is a link to a file that the input lacks: copy the file into the folder, or pass --root, and import again.", shown(p))
		case missing(err):
		case err != nil:
			return nil, false, err
		case slices.Contains(reading, f):
			loops = true
		default:
			included = append(included, f)
		}
	}
	return included, loops, nil
}

// renameIncluded writes the names of included files into the directive.
func (c *conf) renameIncluded(v visit, included []*file) {
	var names []string
	for _, f := range included {
		// Without an nginx.conf, each *.conf is in the http context already.
		if !c.whole && strings.HasSuffix(f.name, ".conf") {
			c.rename(f, strings.TrimSuffix(f.name, ".conf")+".include")
		}
		names = append(names, f.name)
	}
	if len(names) == 1 && names[0] == v.arg(0) {
		c.note(v, Carried, "")
		return
	}
	statements := "include " + strings.Join(names, "; include ") + ";"
	v.replace(statements)
	c.note(v, Changed, "the files of an application are flat: "+strings.TrimSuffix(statements, ";"))
}

// includeMissing decides about an include without a file in the input.
func (c *conf) includeMissing(v visit, pattern string, several bool) (Outcome, string) {
	inFolder := path.Dir(pattern) == configDir
	switch {
	case c.inPod(pattern):
		return Carried, "a mounted volume has it"
	case inFolder && slices.Contains(imageFiles, path.Base(pattern)):
		name := path.Base(pattern)
		if name == v.arg(0) {
			return Carried, "the file of the image is used"
		}
		v.replaceArg(0, name)
		return Changed, "the file of the image is used: include " + name
	case several && len(v.context) == 0:
		return Carried, "it matches files of the image only, which load its modules"
	case c.keepImage:
		return Carried, "it matches files of the image only"
	case several:
		v.replace("")
		if v.inServer() {
			c.review.step("Check that %s (%s:%d) has no files on the machine of nginx, such as one with deny or auth_basic: if there are any, pass --root, and import again.", v.arg(0), shown(v.file.path), v.Line)
		}
		return NotCarried, "no file of the input matches it: if there are any, add them to the folder of nginx.conf, or pass --root, and import again"
	}
	const add = "add it to the folder of nginx.conf, or pass --root, and import again"
	if !v.inServer() {
		// Nobody knows what it would protect, so nginx refuses the configuration, as the old one would.
		c.review.step("%s (%s:%d) was not found, so that nginx refuses the configuration: %s.", v.arg(0), shown(v.file.path), v.Line, add)
		return NotCarried, "the file was not found, and nginx refuses the configuration without it: " + add
	}
	v.replace("return 403;")
	c.review.step("%s (%s:%d) was not found, so that 403 is answered in its place: %s.", v.arg(0), shown(v.file.path), v.Line, add)
	return NotCarried, "the file was not found, and may protect what follows, so that 403 is answered: " + add
}
