package importer

import (
	"path"
	"regexp"
	"strings"
)

// finishScripts makes the scripts of js_import files of the application, when all folders of js_path are known.
func (c *conf) finishScripts() {
	for _, v := range c.scripts {
		outcome, note := c.script(v)
		c.note(v, outcome, note)
	}
}

// script handles `js_import [name from] file`. Without a name, the module is called after the file, whose name changes.
func (c *conf) script(v visit) (Outcome, string) {
	last := len(v.Args) - 1
	if last < 0 {
		return Carried, ""
	}
	located := c.locateScript(v.arg(last))
	outcome, note := c.dataFile(located, false, func(word string) {
		if last > 0 {
			v.replaceArg(last, word)
			return
		}
		module := strings.TrimSuffix(path.Base(located), path.Ext(located))
		v.replace("js_import " + quoted(module) + " from " + quoted(word) + ";")
	})
	if f := c.byPath[locatePath(located)]; f != nil && f.plain {
		for _, found := range scriptImport.FindAllStringSubmatch(f.text, -1) {
			c.review.step("%s imports %s: mount the folder of both with podTemplate.volumes, and name it in js_path.", shown(f.path), found[1])
		}
	}
	return outcome, note
}

// scriptImport matches the files that a script imports. Modules of njs itself have no ending.
var scriptImport = regexp.MustCompile(`(?m)^\s*import\s[^;'"]*['"]([^'"]+\.m?js)['"]`)

// locateScript returns the path of a script: njs looks in the folder of nginx.conf, and then in those of js_path.
func (c *conf) locateScript(name string) string {
	if path.IsAbs(name) {
		return name
	}
	for _, dir := range append([]string{""}, c.scriptDirs...) {
		if _, err := c.source.Read(locatePath(path.Join(dir, name))); err == nil {
			return path.Join(dir, name)
		}
	}
	return name
}
