package standin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
)

// Document returns a document of a backup in a directory of the claim. It verifies the whole
// archive. A missing document is an error.
func (p *NodeStorage) Document(ctx context.Context, folder string, backup *v1alpha1.NginxBackup, name string) ([]byte, error) {
	dir := filepath.Join(p.Claim, folder, job.Key(backup))
	record, err := os.ReadFile(filepath.Join(dir, "backup.json"))
	if err != nil {
		return nil, err
	}
	commit, err := archive.ParseCommit(record)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, commit.Archive))
	if err != nil {
		return nil, err
	}
	_, documents, err := archive.ReadDocuments(ctx, bytes.NewReader(text), commit, archive.DefaultLimits())
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if d.Path == name {
			return d.Data, nil
		}
	}
	return nil, fmt.Errorf("backup %s has no %s", backup.Name, name)
}
