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

// CompareVolumes compares volumes, given by their indexes, with the backup. It changes nothing.
func (a *Agent) CompareVolumes(ctx context.Context, indexes []int) (result job.Result, err error) {
	err = a.withVolumes(ctx, indexes, func(commit archive.Commit, roots map[int]*os.Root) error {
		found, err := a.compare(ctx, commit, roots)
		result.Volumes = volumes(found)
		return err
	})
	return a.withCompletionTime(result, err)
}

// ExtractOptions holds the settings of Extract.
type ExtractOptions struct {
	// Volumes holds the indexes of the volumes to restore.
	Volumes []int
	// OnConflict is what happens to files with other content.
	OnConflict archive.Policy
}

// Extract verifies the whole backup, restores the files of its volumes, and then compares them with
// the backup. If an earlier attempt died, it completes its work.
func (a *Agent) Extract(ctx context.Context, e ExtractOptions) (result job.Result, err error) {
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
	return a.withCompletionTime(result, err)
}

func (a *Agent) withCompletionTime(result job.Result, err error) (job.Result, error) {
	if err != nil {
		return job.Result{}, err
	}
	now := a.Now()
	result.CompletedAt = &now
	return result, nil
}

// withVolumes calls do with the record of the backup and the opened volumes.
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

// proven returns an error unless the volumes have the content of the backup.
func proven(found []archive.Comparison) error {
	for _, c := range found {
		if n := c.Missing + c.Differs + c.Blocked; n > 0 {
			return &sourceError{v1alpha1.ReasonSourceFailed, fmt.Sprintf(
				"%d files of volume %d differ from what was just restored: something else writes to the volume", n, c.Index)}
		}
	}
	return nil
}

func volumes(found []archive.Comparison) []restoration.VolumeComparison {
	var all []restoration.VolumeComparison
	for _, c := range found {
		var examples []string
		for _, path := range slices.Concat(c.DifferExamples, c.BlockedExamples) {
			examples = append(examples, strings.TrimPrefix(path, fmt.Sprintf("content/%d/", c.Index)))
		}
		all = append(all, restoration.VolumeComparison{
			Index: c.Index, Same: c.Same, Missing: c.Missing, Differs: c.Differs, Blocked: c.Blocked,
			Examples: strings.Join(examples, ", "),
		})
	}
	return all
}
