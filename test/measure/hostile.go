package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/test/hostilearchive"
	"example.com/nginx-operator/test/internal/figure"
)

// measureHostile reads every archive of the corpus in every possible way. Each must be refused
// without anything being written.
func measureHostile(ctx context.Context, s *session) ([]figure.Figure, error) {
	corpus := hostilearchive.Corpus(hostilearchive.Namespace)
	var unrefused, written, unclear []string
	for _, c := range corpus {
		packed, commit := c.Build()
		_, err := archive.Verify(ctx, bytes.NewReader(packed), commit, c.Limits)
		refusal, refused := errors.AsType[*archive.RefusedError](err)
		switch {
		case !refused:
			unrefused = append(unrefused, c.Name)
		case refusal.Problem == "":
			unclear = append(unclear, c.Name)
		}
		left, err := extractHostile(ctx, packed, commit, c.Limits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if left > 0 {
			written = append(written, c.Name)
		}
	}
	s.progress("hostile-archives: a valid archive, as a control")
	packed, commit := hostilearchive.Honest(hostilearchive.Namespace)
	if _, err := archive.Verify(ctx, bytes.NewReader(packed), commit, archive.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("a valid archive is refused: %w", err)
	}
	return []figure.Figure{
		figure.HasGoal("hostile or damaged archives", float64(len(corpus)), "archives", figure.AtLeast(40)),
		figure.HasGoal("not refused", float64(len(unrefused)), "archives", figure.AtMost(0), unrefused...),
		figure.HasGoal("refused without a reason", float64(len(unclear)), "archives", figure.AtMost(0), unclear...),
		figure.HasGoal("from which something was written", float64(len(written)), "archives", figure.AtMost(0), written...),
	}, nil
}

// extractHostile extracts an archive like a restore. The volume is a folder within an otherwise
// empty folder. It returns the number of entries in both afterwards.
func extractHostile(ctx context.Context, packed []byte, commit archive.Commit, limits archive.Limits) (left int, err error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	volume := filepath.Join(dir, "volume")
	if err := os.Mkdir(volume, 0o755); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(volume)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	if _, err := archive.ExtractContent(ctx, open, commit, limits, map[int]*os.Root{0: root}, archive.Overwrite); err == nil {
		return 0, errors.New("it was restored")
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir && path != volume {
			left++
		}
		return err
	})
	return left, err
}
