package cacheconf

import (
	"fmt"
	"path"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
)

// generation is the data of the template that gives an object its generations, of which package purge says more.
type generation struct {
	// Purged is the folder with what was purged.
	Purged string
	// Folders are the paths below which everything may be purged, the shortest first: that of the whole host, and
	// variables for the folders of a request's path.
	Folders []string
}

func newGeneration(cacheDir string) generation {
	g := generation{Purged: path.Join(cacheDir, instanceapi.DirPurged), Folders: []string{""}}
	for n := range instanceapi.MaxPurgedFolders {
		g.Folders = append(g.Folders, fmt.Sprintf("$cache_folder_%d", n))
	}
	return g
}

// folderPatterns returns a regular expression for the first folder of a path, one for the first two, and so on.
func folderPatterns() []string {
	patterns := make([]string, 0, instanceapi.MaxPurgedFolders)
	for n := range instanceapi.MaxPurgedFolders {
		patterns = append(patterns, fmt.Sprintf("^(?<cache_below_%d>%s)/", n, strings.Repeat("/[^/]+", n+1)))
	}
	return patterns
}
