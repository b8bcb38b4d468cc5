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

// chunkSize is the size of the part of a packed snapshot that one ConfigMap holds, in bytes. Base64
// makes it a third longer in the API, where a ConfigMap is limited to 1 MiB.
const chunkSize = 700 << 10

// mostPacked bounds a packed snapshot, and mostUnpacked its contents, in bytes.
const (
	mostPacked   = 32 * chunkSize
	mostUnpacked = 256 << 20
)

// headName is the name of the entry with the Snapshot itself.
const headName = "snapshot.json"

// Pack packs a snapshot into pieces that each fit into a ConfigMap. The same snapshot always has
// the same pieces.
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
		return nil, fmt.Errorf("the compressed declarations and history of the application have %d bytes: a backup can hold at most %d", packed.Len(), mostPacked)
	}
	var chunks [][]byte
	for packed.Len() > 0 {
		chunks = append(chunks, packed.Next(chunkSize))
	}
	return chunks, nil
}

// Unpack reads a snapshot from its concatenated pieces.
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
			// gzip's checksum comes after the last byte that tar reads.
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
