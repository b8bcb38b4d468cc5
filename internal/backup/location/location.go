// Package location reads where backups are kept: a folder of a PersistentVolumeClaim or of
// a bucket, written as a URL.
//
//	pvc://claim/folder
//	s3://bucket/folder?region=eu-central-1
//	s3://bucket/folder?endpoint=http://minio.storage:9000&use_path_style=true
//	gs://bucket/folder
//	azblob://container/folder?storage_account=account
//
// It is pure and knows no store, so that whoever only checks or shows a location does not
// carry the clients of three clouds.
//
// A URL never has credentials: it is shown in conditions, events and logs.
package location

import (
	"net/url"
	"strings"
)

// Scheme is the kind of store.
type Scheme string

// The schemes.
const (
	// PVC is a PersistentVolumeClaim of the application's namespace.
	PVC Scheme = "pvc"
	// S3 is Amazon S3, or anything that speaks its protocol.
	S3 Scheme = "s3"
	// GCS is Google Cloud Storage.
	GCS Scheme = "gs"
	// Azure is Azure Blob Storage.
	Azure Scheme = "azblob"
)

// Location is a folder of a store.
type Location struct {
	Scheme Scheme
	// Bucket is the name of the bucket, of Azure's container, or of the claim.
	Bucket string
	// Folder has no slash at its ends; empty: the top of the bucket.
	Folder string
	// Parameters are the query's, each known to the scheme and checked; nil: none.
	Parameters map[string]string
}

// Parameter is a parameter's value, empty if it is not there.
func (l Location) Parameter(name string) string { return l.Parameters[name] }

// Is tells whether a parameter of the type boolean is there and true.
func (l Location) Is(name string) bool { return l.Parameters[name] == "true" }

// Base is the URL without its parameters, for messages.
func (l Location) Base() string {
	u := url.URL{Scheme: string(l.Scheme), Host: l.Bucket, Path: l.Folder}
	if l.Folder != "" {
		u.Path = "/" + l.Folder
	}
	return u.String()
}

// String is the URL in one form: Parse of it is the same location, and two locations that
// are the same have the same text.
func (l Location) String() string {
	if len(l.Parameters) == 0 {
		return l.Base()
	}
	values := url.Values{}
	for name, value := range l.Parameters {
		values.Set(name, value)
	}
	// Slashes and colons need no escape in a query, and an endpoint is easier to read so.
	query := strings.NewReplacer("%3A", ":", "%2F", "/").Replace(values.Encode())
	return l.Base() + "?" + query
}
