package archive

import (
	"encoding/hex"
	"errors"
	"io"
	"time"
)

// item is an entry as a visitor gets it.
type item struct {
	Entry
	place
	// number of the entry in the archive, from 0.
	number   int
	modified time.Time
	// content of a file. A visitor does not have to read all of it. Of an archive that was
	// verified before, its end is an error instead of io.EOF where it is no longer the same.
	content io.Reader
}

// visitor does something with each entry apart from backup.json and the manifest.
type visitor func(item) error

// visitorError is one that the archive is not to blame for.
type visitorError struct{ error }

// content is that of the current entry.
type content struct {
	scanner *scanner
	entry   *Entry
	// err is how reading ended; io.EOF: well.
	err error
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.scanner.tar.Read(p)
	c.scanner.digest.Write(p[:n])
	if errors.Is(err, io.EOF) {
		err = c.end()
	}
	c.err = err
	return n, err
}

func (c *content) end() error {
	if c.entry.Type != Regular {
		return io.EOF
	}
	c.entry.SHA256 = hex.EncodeToString(c.scanner.digest.Sum(nil))
	if c.entry.Path == manifestName {
		return io.EOF
	}
	if err := c.scanner.unchanged(c.entry); err != nil {
		return err
	}
	return io.EOF
}
