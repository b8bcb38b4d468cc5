// Package store keeps backups in a folder of a bucket or of a mounted volume. It is a thin layer over
// the Go CDK, and adds what a backup needs:
//
//   - Atomic writes. An object appears only when it is complete, and never if its writer fails, is
//     stopped or dies.
//   - An idle timeout. A store that makes no progress for some time is Unavailable, while a slow one
//     may take as long as it needs.
//   - One kind for each type of failure, with the message of the store and without credentials.
//
// Credentials are the container's environment, in the variables that each cloud's own tools read, and
// the files google.json and ca.crt of a directory. Without any, the clouds' credentials for workloads
// are used: the token of a service account (IRSA, workload identity) or the identity of the node.
package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob"

	"example.com/nginx-operator/internal/backup/location"
)

// Options holds the settings that are not part of a location.
type Options struct {
	// PVCRoot is the mount point of the claim of a pvc:// location.
	PVCRoot string
	// CredentialsDir is a directory that may hold google.json, the credentials for Google, and
	// ca.crt, certificate authorities in PEM that are trusted in addition to the well-known ones.
	// It may be empty or not exist.
	CredentialsDir string
	// IdleTimeout is the time for which a store may make no progress. Zero means 60 seconds.
	IdleTimeout time.Duration
}

const defaultIdleTimeout = time.Minute

// Store is a folder of a store. It is safe for concurrent use.
type Store struct {
	location location.Location
	bucket   *blob.Bucket
	// volume is set if the store is a mounted volume.
	volume  *volume
	secrets secrets
}

// Object describes an object in the store.
type Object struct {
	// Key is the object's name within the location's folder.
	Key string
	// Size is the size in bytes.
	Size int64
	// Modified is when the object was written.
	Modified time.Time
}

// Open prepares a store for use. It does not check that the bucket exists, but may request
// credentials.
func Open(ctx context.Context, l location.Location, o Options) (*Store, error) {
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	s := &Store{location: l, secrets: environment()}
	bucket, err := s.open(ctx, o)
	if err != nil {
		return nil, s.failed(ctx, "open", "", err)
	}
	if l.Folder != "" {
		bucket = blob.PrefixedBucket(bucket, l.Folder+"/")
	}
	s.bucket = bucket
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) (*blob.Bucket, error) {
	if s.location.Scheme == location.PVC {
		s.volume = &volume{root: o.PVCRoot, folder: filepath.Join(o.PVCRoot, filepath.FromSlash(s.location.Folder))}
		return s.volume.open()
	}
	transport, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	switch s.location.Scheme {
	case location.S3:
		return openS3(ctx, s.location, transport)
	case location.GCS:
		return openGCS(ctx, s.location, transport, filepath.Join(o.CredentialsDir, "google.json"))
	case location.Azure:
		return openAzure(ctx, s.location, transport)
	default:
		return nil, fmt.Errorf("the scheme %q is unknown", s.location.Scheme)
	}
}

// Close releases the resources of the store.
func (s *Store) Close() error {
	if err := s.bucket.Close(); err != nil {
		return s.failed(context.Background(), "close", "", err)
	}
	return nil
}

// valid refuses keys that could lead out of the folder or that have a special meaning for the Go
// CDK.
func valid(key string) error {
	switch {
	case !fs.ValidPath(key) || key == ".":
		return fmt.Errorf("%q cannot be the name of an object", key)
	case temporary.MatchString(key) || filepath.Ext(key) == ".attrs":
		return fmt.Errorf("%q cannot be the name of an object: its ending marks a temporary file", key)
	default:
		return nil
	}
}

// optional returns the contents of a file, or nil if it does not exist.
func optional(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}
