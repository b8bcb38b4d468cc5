package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
)

// Extraction is what Extract needs to know.
type Extraction struct {
	// Volumes are the indexes of those that are brought back.
	Volumes []int
	// OnConflict is what happens to files that are others.
	OnConflict archive.Policy
	// DryRun compares, and changes nothing.
	DryRun bool
}

// Extract verifies the whole backup, brings the files of its volumes back, and compares them with
// the backup afterwards. An attempt after one that died goes on where that one was.
func (a *Agent) Extract(ctx context.Context, e Extraction) (result job.Result, err error) {
	commit, err := a.source(ctx)
	if err != nil {
		return result, err
	}
	roots, err := a.roots(e.Volumes)
	defer func() {
		for _, root := range roots {
			err = errors.Join(err, root.Close())
		}
	}()
	if err != nil {
		return result, err
	}
	var found []archive.Comparison
	if !e.DryRun {
		open := func(ctx context.Context) (io.ReadCloser, error) { return a.open(ctx, commit) }
		found, err = archive.ExtractContent(ctx, open, commit, archive.DefaultLimits(), roots, e.OnConflict)
		if err != nil {
			return result, err
		}
	}
	compared, err := a.compare(ctx, commit, roots)
	if err != nil {
		return result, err
	}
	if e.DryRun {
		found = compared
	} else if err := proven(compared); err != nil {
		return result, err
	}
	now := a.Now()
	return job.Result{Volumes: volumes(found), CompletedAt: &now}, nil
}

func (a *Agent) roots(indexes []int) (map[int]*os.Root, error) {
	roots := map[int]*os.Root{}
	for _, index := range indexes {
		root, err := os.OpenRoot(a.contentDir(index))
		if err != nil {
			return roots, err
		}
		roots[index] = root
	}
	return roots, nil
}

func (a *Agent) compare(ctx context.Context, commit archive.Commit, roots map[int]*os.Root) (found []archive.Comparison, err error) {
	in, err := a.open(ctx, commit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return archive.CompareContent(ctx, in, commit, archive.DefaultLimits(), roots)
}

// proven makes sure that the volumes have what the backup has.
func proven(found []archive.Comparison) error {
	for _, c := range found {
		if n := c.Missing + c.Differs + c.Blocked; n > 0 {
			return &sourceError{v1alpha1.ReasonSourceFailed, fmt.Sprintf(
				"%d files of volume %d are not what was brought back a moment ago: something else writes there", n, c.Index)}
		}
	}
	return nil
}

func volumes(found []archive.Comparison) []restoration.Compared {
	var all []restoration.Compared
	for _, c := range found {
		var examples []string
		for _, path := range slices.Concat(c.DifferExamples, c.BlockedExamples) {
			examples = append(examples, strings.TrimPrefix(path, fmt.Sprintf("content/%d/", c.Index)))
		}
		all = append(all, restoration.Compared{
			Index: c.Index, Same: c.Same, Missing: c.Missing, Differs: c.Differs, Blocked: c.Blocked,
			Examples: strings.Join(examples, ", "),
		})
	}
	return all
}
