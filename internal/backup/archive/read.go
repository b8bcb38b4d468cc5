package archive

import (
	"context"
	"io"
	"strings"
)

// Contents describes the contents of an archive.
type Contents struct {
	Info Info
	// Documents holds the paths of all documents.
	Documents []string
	// Content holds the trees, in the order of Info.Content.
	Content []Tree
	// Secrets holds the names of the encrypted secrets in the archive.
	Secrets []string
	Totals  Totals
	// Skipped holds the first ten of Totals.Skipped.
	Skipped []Skipped
}

// Tree counts what was saved of a content volume.
type Tree struct {
	Index                     int
	Files, Directories, Links int64
	// Bytes is the size of all files.
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

// Verify reads a whole archive and returns its contents. It returns a *RefusedError if anything
// differs from the commit record, the manifest or the format. It writes nothing.
func Verify(ctx context.Context, r io.Reader, commit Commit, limits Limits) (Contents, error) {
	contents, _, err := scan(ctx, r, commit, limits, nil, func(item) error { return nil })
	return contents, err
}

// ReadDocuments verifies an archive like Verify, and returns its documents in their order.
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
