package archive

import (
	"encoding/json"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Commit is the record beside an archive that makes it a backup. It is written only after
// the archive was written and read back.
type Commit struct {
	// Format is the version of the archive and of this record.
	Format int `json:"format"`
	// Archive is the key of the archive in its store.
	Archive string `json:"archive"`
	// Size of the archive in bytes.
	Size int64 `json:"size"`
	// SHA256 of the archive, ManifestSHA256 of the manifest in it, in hexadecimal.
	SHA256         string `json:"sha256"`
	ManifestSHA256 string `json:"manifestSHA256"`
	// Totals are what the archive holds, so that one that unpacks to more is noticed at once.
	Totals Totals `json:"totals"`
	// CompletedAt is when it was recorded; nil: an early version wrote this.
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// Info is that of the archive, to list backups without reading them.
	Info Info `json:"info"`
}

// commitName is how errors call the record.
const commitName = "commit record"

// NewCommit is the record of an archive that a Writer of the same info has written.
func NewCommit(key string, info Info, written Summary) Commit {
	return Commit{
		Format: Format, Archive: key,
		Size: written.Size, SHA256: written.SHA256, ManifestSHA256: written.ManifestSHA256, Totals: written.Totals,
		Info: info.normal(),
	}
}

// Encode is the text of the record. It validates what ParseCommit does.
func (c Commit) Encode() ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return encode(c, "  ")
}

// ParseCommit reads a record that anybody could have written. It ignores fields that it
// does not know: a format that only adds some keeps its number.
func ParseCommit(data []byte) (Commit, error) {
	var c Commit
	if len(data) > commitLength {
		return c, refuse("", "the commit record has %d bytes, %d are possible", len(data), commitLength)
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
		return refuse("", "the commit record names the formats %d and %d, both have to be %d", c.Format, c.Info.Format, Format)
	case c.Size <= 0:
		return refuse("", "the commit record says that the archive has %d bytes", c.Size)
	case !isSHA256(c.SHA256) || !isSHA256(c.ManifestSHA256):
		return refuse("", "the commit record's digests %s and %s are not both a SHA-256 in lower case hexadecimal", clip(c.SHA256), clip(c.ManifestSHA256))
	case !c.Totals.possible():
		return refuse("", "the commit record's totals are impossible: %+v", c.Totals)
	case !isKey(c.Archive):
		return refuse("", "the commit record names the archive %s, which is no key of a store", clip(c.Archive))
	}
	if c.CompletedAt != nil && !isTime(c.CompletedAt) {
		return refuse("", "the commit record's completedAt is no time of a backup")
	}
	if err := c.Info.validate(); err != nil {
		return refuse("", "the commit record's info: %v", err)
	}
	return nil
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// isKey is true of keys that mean the same to every store, and are no way out of a folder.
func isKey(key string) bool {
	return key != "" && len(key) <= 1024 && utf8.ValidString(key) && path.Clean(key) == key && key[0] != '/' &&
		key != "." && key != ".." && !strings.HasPrefix(key, "../") && !strings.Contains(key, `\`) &&
		!strings.ContainsFunc(key, unicode.IsControl)
}
