package importer

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"example.com/nginx-operator/internal/plugin/userfile"
)

// Document is a file with manifests, in YAML or JSON.
type Document struct {
	Name string
	Text []byte
	// Unread is why the file could not be read, or nil.
	Unread error
}

var manifestLine = regexp.MustCompile(`(?m)^[\s{]*"?(apiVersion|kind)"?\s*:`)

// IsManifest reports whether a text has manifests, and is not a configuration of nginx.
func IsManifest(text []byte) bool { return manifestLine.Match(text) }

// FindManifests returns the files with manifests in a folder and the folders in it.
func FindManifests(folder fs.FS) ([]Document, error) {
	var found []Document
	total := 0
	err := userfile.Walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" && path.Ext(name) != ".json" {
			return nil
		}
		text, err := userfile.ReadIn(folder, name, userfile.MaxBytes)
		if total += len(text); total > userfile.MaxBytes {
			return fmt.Errorf("the manifests have more than %d KiB, with %s", userfile.MaxBytes>>10, name)
		}
		info, errStat := fs.Stat(folder, name)
		switch {
		case errStat == nil && info.IsDir():
		case err != nil:
			found = append(found, Document{Name: name, Unread: err})
		case IsManifest(text):
			found = append(found, Document{Name: name, Text: text})
		}
		return nil
	})
	return found, err
}
