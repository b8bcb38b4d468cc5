// Package archive is the format of a backup of one application: what is written, in which
// order, and what a reader refuses. It knows neither Kubernetes nor where backups are kept.
// docs/backup-format.md describes it for people.
//
// An archive is a tar, compressed by gzip: backup.json, documents, the trees of content
// volumes, encrypted secrets, and at its end the manifest with a line for each entry. It is
// read in one pass and in little memory, for which the order of entries is part of the
// format: entries ascend, as a walk through a sorted tree does. A duplicate, or an entry
// beneath something that is no directory, is out of order, so no set of names is needed to
// find it. Of each entry only a fingerprint is kept until the manifest comes.
//
// Beside the archive there is a commit record, written after the archive has been. It says
// what has to be found. An archive without one was not completed.
//
// Writer and readers share the same rules (grammar.go) and limits: what was written can be
// read. A reader that has read all has verified all: every function of this package is a
// complete verification that does something along the way (scan.go).
package archive

import (
	"fmt"
	"strconv"
)

// Format is the version that is written and read.
const Format = 1

// Where the declarations are in an archive.
const (
	// ApplicationPath is the NginxOperator.
	ApplicationPath = "nginxoperator.yaml"
	// ConfigMapsFolder has the ConfigMaps that it refers to, <name>.yaml each.
	ConfigMapsFolder = "configmaps/"
)

// File is a document: a small file that fits into memory.
type File struct {
	// Path in the archive, such as configmaps/web.yaml.
	Path string
	Data []byte
}

// Type of an entry.
type Type string

// The types.
const (
	Regular   Type = "file"
	Directory Type = "dir"
	Link      Type = "link"
)

// Mode are permission bits, written in octal.
type Mode uint32

// permissions are the bits that a Mode may have. Those for other users' identities (setuid,
// setgid, sticky) are neither written nor read.
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

// Entry is what the manifest says about an entry.
type Entry struct {
	// Path of the entry, a directory's without the slash that it has in the tar.
	Path string `json:"path"`
	Type Type   `json:"type"`
	// Size of a file in bytes.
	Size int64 `json:"size"`
	Mode Mode  `json:"mode"`
	// SHA256 of a file's bytes, in hexadecimal.
	SHA256 string `json:"sha256,omitempty"`
	// Target of a symbolic link.
	Target string `json:"linkTarget,omitempty"`
}

// Skipped is something of a volume that is not in the archive.
type Skipped struct {
	Path string `json:"path"`
	// Reason is what it is, such as a socket.
	Reason string `json:"skipped"`
}

// Totals count what is in an archive, without the manifest.
type Totals struct {
	// Entries of the tar.
	Entries int64 `json:"entries"`
	// Files are those of them that are regular files.
	Files int64 `json:"files"`
	// Bytes are the files' sizes.
	Bytes int64 `json:"bytes"`
	// Skipped is how much of the volumes was left out, see Skipped.
	Skipped int64 `json:"skipped"`
}

// with are the totals and an entry more.
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

// Summary is what was written.
type Summary struct {
	Totals
	// Size of the compressed stream, in bytes.
	Size int64
	// SHA256 of the compressed stream, ManifestSHA256 of the manifest, in hexadecimal.
	SHA256, ManifestSHA256 string
}
