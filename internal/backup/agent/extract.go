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

// Match compares volumes, by their indexes, with the backup, and changes nothing.
func (a *Agent) Match(ctx context.Context, indexes []int) (result job.Result, err error) {
	err = a.withVolumes(ctx, indexes, func(commit archive.Commit, roots map[int]*os.Root) error {
		found, err := a.compare(ctx, commit, roots)
		result.Volumes = volumes(found)
		return err
	})
	return a.completed(result, err)
}

// Extraction is what Extract needs to know.
type Extraction struct {
	// Volumes are the indexes of those that are brought back.
	Volumes []int
	// OnConflict is what happens to files that are others.
	OnConflict archive.Policy
}

// Extract verifies the whole backup, brings the files of its volumes back, and compares them with
// the backup afterwards. An attempt after one that died goes on where that one was.
func (a *Agent) Extract(ctx context.Context, e Extraction) (result job.Result, err error) {
	err = a.withVolumes(ctx, e.Volumes, func(commit archive.Commit, roots map[int]*os.Root) error {
		open := func(ctx context.Context) (io.ReadCloser, error) { return a.open(ctx, commit) }
		found, err := archive.ExtractContent(ctx, open, commit, archive.DefaultLimits(), roots, e.OnConflict)
		if err != nil {
			return err
		}
		result.Volumes = volumes(found)
		if found, err = a.compare(ctx, commit, roots); err != nil {
			return err
		}
		return proven(found)
	})
	return a.completed(result, err)
}

func (a *Agent) completed(result job.Result, err error) (job.Result, error) {
	if err != nil {
		return job.Result{}, err
	}
	now := a.Now()
	result.CompletedAt = &now
	return result, nil
}

// withVolumes opens the backup's record and volumes for something that is done with them.
func (a *Agent) withVolumes(ctx context.Context, indexes []int, do func(archive.Commit, map[int]*os.Root) error) (err error) {
	commit, err := a.source(ctx)
	if err != nil {
		return err
	}
	roots, err := a.roots(indexes)
	defer func() {
		for _, root := range roots {
			err = errors.Join(err, root.Close())
		}
	}()
	if err != nil {
		return err
	}
	return do(commit, roots)
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
