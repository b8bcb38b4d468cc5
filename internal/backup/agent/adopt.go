package agent

import (
	"context"
	"fmt"
	"path"
	"strings"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
)

// Adopt verifies a backup that is already in the store and reports its contents. It writes nothing.
func (a *Agent) Adopt(ctx context.Context) (job.Result, error) {
	commit, err := a.readCommit(ctx)
	if err != nil {
		return job.Result{}, err
	}
	if commit == nil {
		return job.Result{}, &sourceError{v1alpha1.ReasonStoreNotFound, fmt.Sprintf("there is no backup in %s: it has no %s", a.Key, commitName)}
	}
	place, err := listing.ParsePath(a.Key)
	if err == nil {
		err = place.Holds(commit.Info)
	}
	if err != nil {
		// Under another name, it would be restored or counted as a different backup.
		return job.Result{}, &sourceError{v1alpha1.ReasonPathInvalid, fmt.Sprintf("%s: %v", a.path(commitName), err)}
	}
	contents, err := a.verify(ctx, *commit)
	if err != nil {
		return job.Result{}, err
	}
	result := a.result(*commit, commit.Info.TakenAt, nil)
	// With a time in the future, it would remain the newest forever.
	if now := a.Now(); result.CompletedAt.After(now) {
		result.CompletedAt = &now
	}
	result.Existing = job.NewExisting(commit.Info, namesOf(contents))
	result.Skipped = skippedFiles(contents)
	return result, nil
}

// namesOf returns the contents of an archive in the form of a status.
func namesOf(contents archive.Contents) v1alpha1.BackupContents {
	names := v1alpha1.BackupContents{
		Files: contents.Totals.Files, Bytes: contents.Totals.Bytes, Skipped: contents.Totals.Skipped,
		EncryptedSecrets: contents.Secrets,
	}
	for _, document := range contents.Documents {
		switch folder, file := path.Split(document); folder {
		case "configmaps/":
			names.ConfigMaps = append(names.ConfigMaps, strings.TrimSuffix(file, ".yaml"))
		case "revisions/":
			names.Revisions++
		}
	}
	for _, secret := range contents.Info.Secrets {
		names.Secrets = append(names.Secrets, secret.Name)
	}
	for _, volume := range contents.Info.Content {
		names.Claims = append(names.Claims, volume.Claim)
	}
	names.LeftOut = job.LeftOut(contents.Info)
	return names
}

// skippedFiles returns the first files that were left out of the volumes.
func skippedFiles(contents archive.Contents) []string {
	var skipped []string
	for _, s := range contents.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s (%s)", s.Path, s.Reason))
	}
	return skipped
}
