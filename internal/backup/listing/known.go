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

// Standing is the expected state of a backup that has an object.
type Standing byte

// The values of Standing.
const (
	// Expected: the data must exist.
	Expected Standing = '+'
	// Lost: the data was missing at the last check.
	Lost Standing = '-'
	// Open: the state of the data is unknown. It may be in the course of being written or deleted.
	Open Standing = '?'
)

// Known holds the backups that have objects, by their paths below the folder of the namespace.
type Known map[string]Standing

// chunkSize is the size of the part of the packed list that one ConfigMap holds, in bytes. Base64
// makes it a third longer in the API, where a ConfigMap is limited to 1 MiB.
const chunkSize = 700 << 10

// mostUnpacked and mostKnown bound a list that is unpacked, in bytes and in backups. The ConfigMaps of a list can be replaced
// by their users.
const (
	mostUnpacked = 32 << 20
	mostKnown    = 500_000
)

// Pack packs the list into pieces that each fit into a ConfigMap. One piece holds about 30,000
// backups. The same list always has the same pieces.
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

// UnpackKnown reads the list from its concatenated pieces.
func UnpackKnown(packed io.Reader) (Known, error) {
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("unpack the known backups: %w", err)
	}
	known := Known{}
	limited := &io.LimitedReader{R: zip, N: mostUnpacked + 1}
	lines := bufio.NewScanner(limited)
	for lines.Scan() {
		if limited.N == 0 {
			return nil, fmt.Errorf("unpack the known backups: they have more than %d bytes", mostUnpacked)
		}
		line := lines.Text()
		if len(line) < 2 {
			return nil, errors.New("unpack the known backups: a line names no backup")
		}
		known[line[1:]] = Standing(line[0])
		if len(known) > mostKnown {
			return nil, fmt.Errorf("unpack the known backups: they are more than %d", mostKnown)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("unpack the known backups: %w", err)
	}
	return known, nil
}
