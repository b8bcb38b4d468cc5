package archive

import (
	"encoding/hex"
	"errors"
	"io"
	"time"
)

// item is an entry as it is passed to a visitor.
type item struct {
	Entry
	place
	// number is the position of the entry in the archive, from 0.
	number   int
	modified time.Time
	// content is the content of a file. A visitor need not read all of it. If the archive was
	// verified before and its content has changed since, the last read returns an error instead of
	// io.EOF.
	content io.Reader
}

// visitor is called for each entry except backup.json and the manifest.
type visitor func(item) error

// visitorError is an error that the archive did not cause.
type visitorError struct{ error }

// content reads the content of the current entry.
type content struct {
	scanner *scanner
	entry   *Entry
	// err is the error that ended reading, or io.EOF if it was successful.
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
