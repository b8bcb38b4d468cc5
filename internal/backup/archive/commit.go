package archive

import (
	"encoding/json"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Commit is the record beside an archive that turns it into a backup. It is written only after the
// archive has been written and read back.
type Commit struct {
	// Format is the version of the archive and of this record.
	Format int `json:"format"`
	// Archive is the key of the archive in its store.
	Archive string `json:"archive"`
	// Size is the size of the archive in bytes.
	Size int64 `json:"size"`
	// SHA256 is the hash of the archive, and ManifestSHA256 that of its manifest, in hexadecimal.
	SHA256         string `json:"sha256"`
	ManifestSHA256 string `json:"manifestSHA256"`
	// Totals counts the contents of the archive, so that an archive that unpacks to more is refused
	// at once.
	Totals Totals `json:"totals"`
	// CompletedAt is when the record was written, or nil in records of an early version.
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// Info is the info of the archive, so that backups can be listed without reading their
	// archives.
	Info Info `json:"info"`
}

// commitName is the name of the record in errors.
const commitName = "commit record"

// NewCommit returns the record of an archive that a Writer wrote with the same info.
func NewCommit(key string, info Info, written Summary) Commit {
	return Commit{
		Format: Format, Archive: key,
		Size: written.Size, SHA256: written.SHA256, ManifestSHA256: written.ManifestSHA256, Totals: written.Totals,
		Info: info.normal(),
	}
}

// Encode returns the record as JSON. It makes the same checks as ParseCommit.
func (c Commit) Encode() ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return encode(c, "  ")
}

// ParseCommit parses a record from an untrusted source. It ignores unknown fields, since a format
// that only adds fields keeps its number.
func ParseCommit(data []byte) (Commit, error) {
	var c Commit
	if len(data) > commitLength {
		return c, refuse("", "the commit record has %d bytes: at most %d are allowed", len(data), commitLength)
	}
	if err := checkFormat(commitName, data); err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, notJSON(commitName, err)
	}
	return c, c.validate()
}

func (c Commit) validate() error {
	switch {
	case c.Format > Format:
		return laterVersion(c.Format)
	case c.Format != Format || c.Info.Format != Format:
		return refuse("", "the commit record names the formats %d and %d: both must be %d", c.Format, c.Info.Format, Format)
	case c.Size <= 0:
		return refuse("", "the commit record has the impossible archive size %d", c.Size)
	case !isSHA256(c.SHA256) || !isSHA256(c.ManifestSHA256):
		return refuse("", "the commit record's digests %s and %s must both be SHA-256 in lower case hexadecimal", clip(c.SHA256), clip(c.ManifestSHA256))
	case !c.Totals.possible():
		return refuse("", "the commit record's totals are impossible: %+v", c.Totals)
	case !isKey(c.Archive):
		return refuse("", "the commit record names the archive %s, which is not a valid key of a store", clip(c.Archive))
	}
	if c.CompletedAt != nil && !isTime(c.CompletedAt) {
		return refuse("", "the commit record's completedAt is not a valid time")
	}
	if err := c.Info.validate(); err != nil {
		return refuse("", "the commit record's info: %v", err)
	}
	return nil
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// isKey reports whether a key means the same in every store and does not lead out of a folder.
func isKey(key string) bool {
	return key != "" && len(key) <= 1024 && utf8.ValidString(key) && path.Clean(key) == key && key[0] != '/' &&
		key != "." && key != ".." && !strings.HasPrefix(key, "../") && !strings.Contains(key, `\`) &&
		!strings.ContainsFunc(key, unicode.IsControl)
}
