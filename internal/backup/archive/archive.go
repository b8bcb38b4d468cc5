// Package archive defines the format of a backup of one application: what is written, in which order,
// and what a reader refuses. It depends neither on Kubernetes nor on where backups are stored.
// docs/backup-format.md describes the format for users.
//
// An archive is a tar, compressed by gzip: backup.json, documents, the trees of content volumes,
// encrypted secrets, and at its end the manifest with a line for each entry. To read it in one pass
// and with little memory, the order of entries is part of the format: entries ascend, as in a walk
// through a sorted tree. A duplicate, or an entry below something that is not a directory, is out of
// order, so it is found without a set of all names. Only a fingerprint of each entry is kept until the
// manifest is read.
//
// Beside the archive there is a commit record, which is written after the archive. It says what the
// archive must contain. An archive without a commit record is incomplete.
//
// The Writer and the readers share the same rules (grammar.go) and limits: what was written can be
// read. Every function that reads an archive verifies all of it and does its work along the way
// (verify.go).
package archive

import (
	"fmt"
	"strconv"
)

// Format is the version of the format that is written and read.
const Format = 1

// The paths of the declarations in an archive.
const (
	// ApplicationPath is the file with the NginxOperator.
	ApplicationPath = "nginxoperator.yaml"
	// ConfigMapsFolder holds the ConfigMaps that it refers to, each as <name>.yaml.
	ConfigMapsFolder = "configmaps/"
)

// File is a document: a small file that fits into memory.
type File struct {
	// Path is the path in the archive, such as configmaps/web.yaml.
	Path string
	Data []byte
}

// Type is the type of an entry.
type Type string

// The types of entries.
const (
	Regular   Type = "file"
	Directory Type = "dir"
	Link      Type = "link"
)

// Mode holds permission bits. It is written in octal.
type Mode uint32

// permissions are the bits that a Mode may have. Setuid, setgid and sticky bits are neither written
// nor read.
const permissions Mode = 0o777

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%04o", uint32(m)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) error {
	bits, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil {
		return fmt.Errorf("mode %s: not an octal number", clip(string(text)))
	}
	*m = Mode(bits)
	return nil
}

// Entry describes an entry in the manifest.
type Entry struct {
	// Path is the path of the entry. That of a directory has no trailing slash, unlike in the tar.
	Path string `json:"path"`
	Type Type   `json:"type"`
	// Size is the size of a file in bytes.
	Size int64 `json:"size"`
	Mode Mode  `json:"mode"`
	// SHA256 is the hash of a file's content, in hexadecimal.
	SHA256 string `json:"sha256,omitempty"`
	// Target is the target of a symbolic link.
	Target string `json:"linkTarget,omitempty"`
}

// Skipped describes a file of a volume that is not in the archive.
type Skipped struct {
	Path string `json:"path"`
	// Reason is why it was left out, such as "socket".
	Reason string `json:"skipped"`
}

// Totals counts the contents of an archive, without the manifest.
type Totals struct {
	// Entries is the number of entries in the tar.
	Entries int64 `json:"entries"`
	// Files is the number of regular files among them.
	Files int64 `json:"files"`
	// Bytes is the size of all files.
	Bytes int64 `json:"bytes"`
	// Skipped is the number of files that were left out, see Skipped.
	Skipped int64 `json:"skipped"`
}

// with returns the totals with one more entry.
func (t Totals) with(e Entry) Totals {
	t.Entries++
	if e.Type == Regular {
		t.Files++
		t.Bytes += e.Size
	}
	return t
}

func (t Totals) possible() bool {
	return t.Files >= 1 && t.Files <= t.Entries && t.Bytes >= 0 && t.Skipped >= 0
}

// Summary describes an archive that was written.
type Summary struct {
	Totals
	// Size is the size of the compressed stream, in bytes.
	Size int64
	// SHA256 is the hash of the compressed stream, and ManifestSHA256 that of the manifest, in
	// hexadecimal.
	SHA256, ManifestSHA256 string
}
