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
	"example.com/nginx-operator/internal/backup/archive/hostile"
	"example.com/nginx-operator/test/internal/figure"
)

// measureHostile reads every archive of the corpus by every way there is. Each has to be
// refused, and nothing written.
func measureHostile(ctx context.Context, s *session) ([]figure.Figure, error) {
	corpus := hostile.Corpus()
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
	s.progress("hostile-archives: an honest archive, to show that not everything is refused")
	packed, commit := hostile.Honest()
	if _, err := archive.Verify(ctx, bytes.NewReader(packed), commit, archive.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("an honest archive is refused: %w", err)
	}
	return []figure.Figure{
		figure.Judged("hostile or damaged archives", float64(len(corpus)), "archives", figure.AtLeast(40)),
		figure.Judged("not refused", float64(len(unrefused)), "archives", figure.AtMost(0), unrefused...),
		figure.Judged("refused without saying why", float64(len(unclear)), "archives", figure.AtMost(0), unclear...),
		figure.Judged("of which something was written", float64(len(written)), "archives", figure.AtMost(0), written...),
	}, nil
}

// extractHostile extracts an archive as a restore would, into a volume whose folder is in a
// folder of its own, and counts what is in both afterwards.
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
