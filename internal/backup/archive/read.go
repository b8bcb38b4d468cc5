package archive

import (
	"context"
	"io"
	"strings"
)

// Contents are what an archive holds.
type Contents struct {
	Info Info
	// Documents are the paths of all of them.
	Documents []string
	// Content are the trees, in the order of Info.Content.
	Content []Tree
	// Secrets are the names of those that are in the archive, encrypted.
	Secrets []string
	Totals  Totals
	// Skipped are the first ten of Totals.Skipped.
	Skipped []Skipped
}

// Tree is what was saved of a content volume.
type Tree struct {
	Index                     int
	Files, Directories, Links int64
	// Bytes of the files.
	Bytes int64
}

func (c *Contents) add(i item) {
	switch {
	case i.document():
		c.Documents = append(c.Documents, i.Path)
	case i.section == secretSection:
		c.Secrets = append(c.Secrets, strings.TrimSuffix(i.rest, secretSuffix))
	case i.section == contentSection && i.rest == "":
		c.Content = append(c.Content, Tree{Index: i.index})
	case i.section == contentSection:
		c.Content[len(c.Content)-1].add(i.Entry)
	}
}

func (t *Tree) add(e Entry) {
	switch e.Type {
	case Regular:
		t.Files++
		t.Bytes += e.Size
	case Directory:
		t.Directories++
	case Link:
		t.Links++
	}
}

// Verify reads a whole archive and tells what it holds. It returns a *RefusedError where
// anything is not as the commit record, the manifest and the format say. It writes nothing.
func Verify(ctx context.Context, r io.Reader, commit Commit, limits Limits) (Contents, error) {
	contents, _, err := scan(ctx, r, commit, limits, nil, func(item) error { return nil })
	return contents, err
}

// ReadDocuments verifies as Verify does, and returns the documents, in their order.
func ReadDocuments(ctx context.Context, r io.Reader, commit Commit, limits Limits) (Info, []File, error) {
	var files []File
	contents, _, err := scan(ctx, r, commit, limits, nil, func(i item) error {
		if !i.document() {
			return nil
		}
		data, err := io.ReadAll(i.content)
		files = append(files, File{Path: i.Path, Data: data})
		return err
	})
	if err != nil {
		return Info{}, nil, err
	}
	return contents.Info, files, nil
}
