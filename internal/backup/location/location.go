// Package location parses the locations of backups: a folder in a PersistentVolumeClaim or in a
// bucket, written as a URL.
//
//	pvc://claim/folder
//	s3://bucket/folder?region=eu-central-1
//	s3://bucket/folder?endpoint=http://minio.storage:9000&use_path_style=true
//	gs://bucket/folder
//	azblob://container/folder?storage_account=account
//
// It is pure and does not access a store. So a program that only checks or shows a location need not
// include the clients of three clouds.
//
// A URL never contains credentials: it is shown in conditions, events and logs.
package location

import (
	"net/url"
	"strings"
)

// Scheme is the kind of store.
type Scheme string

// The known schemes.
const (
	// PVC is a PersistentVolumeClaim of the application's namespace.
	PVC Scheme = "pvc"
	// S3 is Amazon S3, or a store that is compatible with it.
	S3 Scheme = "s3"
	// GCS is Google Cloud Storage.
	GCS Scheme = "gs"
	// Azure is Azure Blob Storage.
	Azure Scheme = "azblob"
)

// Location is a folder in a store.
type Location struct {
	Scheme Scheme
	// Bucket is the name of the bucket, of Azure's container, or of the claim.
	Bucket string
	// Folder has no leading or trailing slash. It is empty for the top of the bucket.
	Folder string
	// Parameters holds the validated parameters of the query, or nil if there are none.
	Parameters map[string]string
}

// Parameter returns the value of a parameter, or "" if it is not set.
func (l Location) Parameter(name string) string { return l.Parameters[name] }

// Is reports whether a boolean parameter is set and true.
func (l Location) Is(name string) bool { return l.Parameters[name] == "true" }

// Base returns the URL without its parameters, for messages.
func (l Location) Base() string {
	u := url.URL{Scheme: string(l.Scheme), Host: l.Bucket, Path: l.Folder}
	if l.Folder != "" {
		u.Path = "/" + l.Folder
	}
	return u.String()
}

// String returns the canonical URL: Parse returns the same location for it, and equal locations
// have the same URL.
func (l Location) String() string {
	if len(l.Parameters) == 0 {
		return l.Base()
	}
	values := url.Values{}
	for name, value := range l.Parameters {
		values.Set(name, value)
	}
	// Slashes and colons need no escape in a query, and an endpoint is easier to read without.
	query := strings.NewReplacer("%3A", ":", "%2F", "/").Replace(values.Encode())
	return l.Base() + "?" + query
}
