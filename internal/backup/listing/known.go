package listing

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Standing is what is expected of a backup that has an object.
type Standing byte

// The standings.
const (
	// Expected: the data has to be there.
	Expected Standing = '+'
	// Lost: the data was missing.
	Lost Standing = '-'
	// Open: nothing is known of the data. It may be being written, or deleted.
	Open Standing = '?'
)

// Known are the backups that have objects, by their paths below the folder of the namespace.
type Known map[string]Standing

// chunkSize is how much of the packed list one ConfigMap holds, in bytes. In an object of the
// API it is a third longer, in base64, and a ConfigMap may have 1 MiB.
const chunkSize = 700 << 10

// Pack makes pieces that fit into a ConfigMap each: one for about 30,000 backups. The same
// backups have the same pieces.
func (k Known) Pack() ([][]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	for _, path := range slices.Sorted(maps.Keys(k)) {
		if _, err := fmt.Fprintf(zip, "%c%s\n", k[path], path); err != nil {
			return nil, err
		}
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(packed.Bytes(), chunkSize)), nil
}

// Unpack reads the backups from their pieces, one after the other.
func Unpack(packed io.Reader) (Known, error) {
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("unpack the known backups: %w", err)
	}
	known := Known{}
	lines := bufio.NewScanner(zip)
	for lines.Scan() {
		line := lines.Text()
		if len(line) < 2 {
			return nil, errors.New("unpack the known backups: a line names none")
		}
		known[line[1:]] = Standing(line[0])
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("unpack the known backups: %w", err)
	}
	return known, nil
}
