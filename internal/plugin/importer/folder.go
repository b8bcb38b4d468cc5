package importer

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/plugin/userfile"
)

// FindMain returns the main files of a folder: its nginx.conf, or else the *.conf files in it and in its folders of sites
// that no other file includes.
func FindMain(folder fs.FS) ([]string, error) {
	info, errMain := fs.Stat(folder, "nginx.conf")
	if errMain == nil && !info.IsDir() {
		return []string{configDir + "/nginx.conf"}, nil
	}
	var found []string
	err := userfile.Walk(folder, func(name string, entry fs.DirEntry) error {
		switch {
		case name == "nginx.conf" && errMain != nil:
			return errMain
		case entry.IsDir() && withoutSites(name, entry):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".conf":
			found = append(found, configDir+"/"+name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return notIncluded(Folder{Config: folder}, found), nil
}

// withoutSites reports whether a folder below that of the configuration is none from which nginx reads sites.
func withoutSites(name string, folder fs.DirEntry) bool {
	if name == "." {
		return false
	}
	return strings.HasPrefix(folder.Name(), ".") || folder.Name() == "sites-available" || strings.Count(name, "/") > 1
}

// notIncluded returns the files that no other one includes.
func notIncluded(source Source, names []string) []string {
	included := map[string]bool{}
	for _, name := range names {
		text, err := source.Read(name)
		if err != nil {
			continue // the import reports it
		}
		for s := range syntax.Statements(text) {
			if s.Name != "include" || len(s.Words) != 2 {
				continue
			}
			pattern := locatePath(syntax.Unquoted(text[s.Words[1].Start:s.Words[1].End]))
			for _, other := range names {
				matched, err := path.Match(pattern, other)
				if other == pattern || err == nil && matched {
					included[other] = true
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return included[name] })
}

// ReviewFiles adds to the review the configuration files of a folder that the configuration does not include.
func (r *Result) ReviewFiles(folder fs.FS) error {
	read := map[string]bool{}
	for _, i := range r.Review.Items {
		read[i.Source] = true
	}
	return userfile.Walk(folder, func(name string, entry fs.DirEntry) error {
		if !entry.IsDir() && path.Ext(name) == ".conf" && !read[name] {
			r.Review.add(Item{Source: name, Subject: "the whole file", Kind: KindFile, Outcome: NotCarried, Note: "no file includes it, so nginx does not read it"})
		}
		return nil
	})
}
