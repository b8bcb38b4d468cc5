package importer

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Document is a file with manifests, in YAML or JSON.
type Document struct {
	Name string
	Text []byte
}

var manifestLine = regexp.MustCompile(`(?m)^[\s{]*"?(apiVersion|kind)"?\s*:`)

// IsManifest reports whether a text has manifests, and is not a configuration of nginx.
func IsManifest(text []byte) bool { return manifestLine.Match(text) }

// FindManifests returns the files with manifests in a folder and the folders in it.
func FindManifests(folder fs.FS) ([]Document, error) {
	var found []Document
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" && path.Ext(name) != ".json":
			return nil
		}
		text, err := fs.ReadFile(folder, name)
		if err == nil && IsManifest(text) {
			found = append(found, Document{Name: name, Text: text})
		}
		return err
	})
	return found, err
}
