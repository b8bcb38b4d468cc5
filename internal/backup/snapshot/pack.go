package snapshot

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/nginx-operator/internal/backup/archive"
)

// chunkSize is how much of a packed snapshot one ConfigMap holds, in bytes. In an object of
// the API it is a third longer, in base64, and a ConfigMap may have 1 MiB.
const chunkSize = 700 << 10

// mostPacked bounds a packed snapshot, and mostUnpacked what it holds, in bytes.
const (
	mostPacked   = 32 * chunkSize
	mostUnpacked = 256 << 20
)

// headName is the entry with the Snapshot itself.
const headName = "snapshot.json"

// Pack makes pieces of a snapshot that fit into a ConfigMap each. The same snapshot has the
// same pieces.
func (s Snapshot) Pack() ([][]byte, error) {
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for _, f := range append([]archive.File{{Path: headName, Data: head}}, s.Documents...) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: int64(len(f.Data)), Mode: 0o600}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		return nil, err
	}
	if packed.Len() > mostPacked {
		return nil, fmt.Errorf("the declarations and the history of the application have %d bytes, packed; a backup can hold %d", packed.Len(), mostPacked)
	}
	var chunks [][]byte
	for packed.Len() > 0 {
		chunks = append(chunks, packed.Next(chunkSize))
	}
	return chunks, nil
}

// Unpack reads a snapshot from its pieces, one after the other.
func Unpack(packed io.Reader) (Snapshot, error) {
	var s Snapshot
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return s, fmt.Errorf("unpack the snapshot: %w", err)
	}
	in := tar.NewReader(io.LimitReader(zip, mostUnpacked))
	for first := true; ; first = false {
		header, err := in.Next()
		if errors.Is(err, io.EOF) && !first {
			// The checksum comes after what tar reads.
			if _, err := io.Copy(io.Discard, zip); err != nil {
				return s, fmt.Errorf("unpack the snapshot: %w", err)
			}
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("unpack the snapshot: %w", err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return s, fmt.Errorf("unpack %s of the snapshot: %w", header.Name, err)
		}
		if first {
			if err := json.Unmarshal(data, &s); err != nil {
				return s, fmt.Errorf("read %s: %w", header.Name, err)
			}
			continue
		}
		s.Documents = append(s.Documents, archive.File{Path: header.Name, Data: data})
	}
}
