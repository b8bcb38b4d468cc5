package purge

import (
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
)

// maxName is the longest name of a folder, in bytes, and maxPath the longest path in the tree. nginx finds nothing beyond
// these, so the folder above is purged. So is that of an object in more than maxFolders: its link would need all of them, and
// there can be maxLinks of such links.
const (
	maxName    = 255
	maxPath    = 2600
	maxFolders = 32
)

// place returns the folder in the tree, and the name, of the link of a target. Where nginx could not find it, it returns
// that of a folder of the path above, or the link of everything, so that too much is purged rather than too little.
func place(t instanceapi.Target) (folder []string, name string) {
	folders := components(t.Host + t.Path)
	all := components(t.Host + t.Path + t.Query)
	if !t.Below && len(all) <= maxFolders && len(strings.Join(all, "/")) <= maxPath && !slices.ContainsFunc(all, unusable) {
		return all, linkObject
	}
	if !t.Below && !strings.HasSuffix(t.Path, "/") {
		// What is below the folder that the object is in.
		folders = folders[:len(folders)-1]
	}
	if at := slices.IndexFunc(folders, unusable); at >= 0 {
		folders = folders[:at]
	}
	if len(folders) == 0 {
		return nil, linkAll
	}
	return folders[:min(len(folders), 1+instanceapi.MaxPurgedFolders)], linkBelow
}

// components returns the names in a path.
func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// unusable reports whether a component of a path cannot be the name of a folder.
func unusable(name string) bool {
	switch name {
	case ".", "..", linkBelow, linkObject, unfinished:
		return true
	}
	return len(name) > maxName
}
