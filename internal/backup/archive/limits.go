package archive

// Limits bounds what is written and read. Callers lower Bytes to the capacity of a volume.
type Limits struct {
	// Entries bounds the entries of the archive and, separately, the files that were skipped. A
	// reader keeps 16 bytes of each entry in memory.
	Entries int64
	// Bytes bounds the uncompressed size of all files.
	Bytes int64
	// PathLength bounds paths in the archive and targets of links, in bytes.
	PathLength int
	// Depth bounds the depth of directories in a volume.
	Depth int
	// Document bounds each document, and Documents all documents, in bytes. They are read into
	// memory.
	Document, Documents int64
	// Secret bounds an encrypted secret, in bytes.
	Secret int64
	// Manifest bounds the manifest, in bytes.
	Manifest int64
	// Ratio bounds how many times the archive may be compressed, apart from its first Slack bytes.
	// Files of zeros are legitimate and compress a thousand times, so only large archives are
	// suspicious.
	Ratio, Slack int64
}

// DefaultLimits returns limits far above the content of a web server, and far below what would do
// harm.
func DefaultLimits() Limits {
	return Limits{
		Entries:    1_000_000,
		Bytes:      1 << 40,
		PathLength: 4096, // PATH_MAX of Linux
		Depth:      100,
		Document:   4 << 20, // a Kubernetes object has at most 1.5 MiB, and YAML escapes part of it
		Documents:  32 << 20,
		Secret:     4 << 20,
		Manifest:   1 << 30,
		Ratio:      200,
		Slack:      4 << 30,
	}
}

const (
	// nameLength is Linux's NAME_MAX.
	nameLength = 255
	// headerLength bounds the headers of an entry in the tar, with its path and target, in bytes.
	headerLength = 16 << 10
	// lineLength bounds a line of the manifest, in bytes. JSON can make a path six times as long.
	lineLength = 64 << 10
	// infoLength bounds backup.json, and commitLength a commit record, in bytes.
	infoLength   = 1 << 20
	commitLength = 2 << 20
	// entryCost is what a document or secret counts in addition to its bytes, so that many empty
	// ones are bounded like a few large ones.
	entryCost = 1 << 10
)
