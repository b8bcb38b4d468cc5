package archive

// Limits bound what is written and read. A caller lowers Bytes to what a volume can take.
type Limits struct {
	// Entries of the archive, and of what was skipped, each. A reader keeps 16 bytes of each
	// entry in memory.
	Entries int64
	// Bytes of all files, uncompressed.
	Bytes int64
	// PathLength in bytes, of paths in the archive and of targets of links.
	PathLength int
	// Depth of directories in a volume.
	Depth int
	// Document is how large one document may be in bytes, Documents all of them. They are read
	// into memory.
	Document, Documents int64
	// Secret is how large an encrypted secret may be, in bytes.
	Secret int64
	// Manifest is how large the manifest may be, in bytes.
	Manifest int64
	// Ratio is how many bytes one compressed byte may stand for, once the whole is more than
	// Slack bytes. Files of zeros are honest and compress a thousand times, so only large ones
	// are suspicious.
	Ratio, Slack int64
}

// DefaultLimits are far above what a web server's content is, and far below what would hurt.
func DefaultLimits() Limits {
	return Limits{
		Entries:    1_000_000,
		Bytes:      1 << 40,
		PathLength: 4096, // PATH_MAX of Linux
		Depth:      100,
		Document:   4 << 20, // a Kubernetes object is 1.5 MiB at most, YAML escapes some of it
		Documents:  32 << 20,
		Secret:     4 << 20,
		Manifest:   1 << 30,
		Ratio:      200,
		Slack:      4 << 30,
	}
}

const (
	// nameLength is NAME_MAX of Linux.
	nameLength = 255
	// headerLength bounds what a tar takes to tell a path and a target, in bytes.
	headerLength = 16 << 10
	// lineLength bounds a line of the manifest, in bytes: JSON makes a path six times as long.
	lineLength = 64 << 10
	// infoLength bounds backup.json, commitLength a commit record, in bytes.
	infoLength   = 1 << 20
	commitLength = 2 << 20
	// entryCost is what a document or secret counts beside its bytes, so that a flood of empty
	// ones is as bounded as large ones.
	entryCost = 1 << 10
)
