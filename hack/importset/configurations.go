package main

import (
	"path"
	"path/filepath"
	"slices"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/internal/plugin/userfile"
	"example.com/nginx-operator/test/importset"
)

const configDir = "/etc/nginx/"

// configurations imports the whole configurations below a folder, and then the files that none of them reads.
func configurations(folder string, t *total) error {
	set, err := importset.Find(folder)
	if err != nil {
		return err
	}
	t.skipped += set.Templates
	t.importAll(set.Whole, set.Parts)
	return nil
}

// importAll imports whole configurations, and then the other files that they do not read.
func (t *total) importAll(roots, others []string) {
	read := map[string]bool{}
	for _, name := range roots {
		t.configurations++
		t.importFile(name, read)
	}
	for _, name := range others {
		if !read[name] {
			t.parts++
			t.importPart(name, read)
		}
	}
}

// importFile imports a file with its includes.
func (t *total) importFile(name string, read map[string]bool) {
	dir := filepath.Dir(name)
	folder, err := importer.ConfigFolder(dir)
	if err != nil {
		t.refuse(name, err)
		return
	}
	defer func() { _ = folder.Close() }()
	source := importer.Folder{Config: folder}
	result, err := importer.Config(source, []string{configDir + filepath.Base(name)}, importer.Options{})
	if err != nil {
		t.refuse(name, err)
		return
	}
	t.count(result, source, dir, read)
}

// importPart imports a part of a configuration: as it is, or within a server.
func (t *total) importPart(name string, read map[string]bool) {
	text, err := userfile.ReadFile(name, userfile.MaxBytes)
	if err != nil {
		t.refuse(name, err)
		return
	}
	dir := filepath.Dir(name)
	folder, err := importer.ConfigFolder(dir)
	if err != nil {
		t.refuse(name, err)
		return
	}
	defer func() { _ = folder.Close() }()
	source := part{importer.Folder{Config: folder}, importset.Wrapper(string(text), filepath.Base(name), "")}
	result, err := importer.Config(source, []string{wrapper}, importer.Options{})
	if err != nil {
		t.refuse(name, err)
		return
	}
	own := func(i importer.Item) bool { return configDir+i.Source == wrapper }
	result.Review.Items = slices.DeleteFunc(result.Review.Items, own)
	t.count(result, source, dir, read)
}

const wrapper = configDir + "wrapper.importset"

// part is a Source with a file that includes the part.
type part struct {
	importer.Folder
	wrapper string
}

// Read implements importer.Source.
func (p part) Read(name string) (string, error) {
	if name == wrapper {
		return p.wrapper, nil
	}
	return p.Folder.Read(name)
}

// count adds a review, and compares it with the statements of the files that it is about.
func (t *total) count(r *importer.Result, source importer.Source, dir string, read map[string]bool) {
	reviewed := map[string]int{}
	for _, i := range r.Review.Items {
		if i.Kind == importer.KindDirective {
			reviewed[i.Source]++
		}
	}
	for name, items := range reviewed {
		text, err := source.Read(configDir + name)
		if err != nil {
			t.refuse(path.Join(dir, name), err)
			continue
		}
		statements := 0
		for range syntax.Statements(text) {
			statements++
		}
		t.lost += max(statements-items, 0)
		t.files++
		read[filepath.Join(dir, filepath.FromSlash(name))] = true
	}
	t.add(dir, r)
}
