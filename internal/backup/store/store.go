// Package store keeps backups in a folder of a bucket or of a mounted volume. It is a thin
// layer over the Go CDK, and adds what a backup needs:
//
//   - Whole or not at all. An object appears when its last byte is there, and not when the
//     one who writes it fails, is stopped, or dies.
//   - An end. A store that does nothing for a while is Unavailable, however slowly another
//     one may get on.
//   - One kind for each way to fail, in the store's own words, and no credentials in them.
//
// Credentials are the container's environment, in the variables that each cloud's own tools
// read, and the files google.json and ca.crt of a folder. Without any, the clouds' ways for
// workloads work: a service account's token (IRSA, workload identity), the node's identity.
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

// Options are what a location does not tell.
type Options struct {
	// PVCRoot is where the claim of a location pvc:// is mounted.
	PVCRoot string
	// CredentialsDir may have google.json, the credentials for Google, and ca.crt,
	// certificate authorities in PEM that are trusted beside the well-known ones. Empty, or
	// a folder that is not there: none.
	CredentialsDir string
	// IdleTimeout is how long a store may do nothing at all; zero: 60 seconds.
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

// Object is a file of the store.
type Object struct {
	// Key is the object's name within the location's folder.
	Key string
	// Size in bytes.
	Size int64
	// Modified is when it was written.
	Modified time.Time
}

// Open prepares a store for use. It asks no cloud whether the bucket is there, but may ask
// for credentials.
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

// Close lets go of the store.
func (s *Store) Close() error {
	if err := s.bucket.Close(); err != nil {
		return s.failed(context.Background(), "close", "", err)
	}
	return nil
}

// valid refuses keys that could leave the folder, or that mean something to the Go CDK.
func valid(key string) error {
	switch {
	case !fs.ValidPath(key) || key == ".":
		return fmt.Errorf("%q cannot be the name of an object", key)
	case temporary.MatchString(key) || filepath.Ext(key) == ".attrs":
		return fmt.Errorf("%q cannot be the name of an object: its end means a temporary file", key)
	default:
		return nil
	}
}

// optional is a file of the credentials' folder, nil if it is not there.
func optional(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}
