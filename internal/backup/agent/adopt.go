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

// Adopt verifies a backup that is there already, and tells what it holds. It writes nothing.
func (a *Agent) Adopt(ctx context.Context) (job.Result, error) {
	commit, err := a.commit(ctx)
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
		// Restored or counted under another name, it would be something that it is not.
		return job.Result{}, &sourceError{v1alpha1.ReasonPathInvalid, fmt.Sprintf("%s: %v", a.path(commitName), err)}
	}
	contents, err := a.verify(ctx, *commit)
	if err != nil {
		return job.Result{}, err
	}
	result := a.result(*commit, commit.Info.TakenAt, nil)
	// One of a time to come would be the newest for ever.
	if now := a.Now(); result.CompletedAt.After(now) {
		result.CompletedAt = &now
	}
	result.Adopted = job.NewAdopted(commit.Info, namesOf(contents))
	result.Skipped = left(contents)
	return result, nil
}

// namesOf are what an archive holds, as a status tells it.
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
	return names
}

// left are the first things that were left out of the volumes.
func left(contents archive.Contents) []string {
	var skipped []string
	for _, s := range contents.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s (%s)", s.Path, s.Reason))
	}
	return skipped
}
