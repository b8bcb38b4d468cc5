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
	"example.com/nginx-operator/internal/boundedjson"
)

// chunkSize is the size of the part of a packed snapshot that one ConfigMap holds, in bytes. Base64
// makes it a third longer in the API, where a ConfigMap is limited to 1 MiB.
const chunkSize = 700 << 10

// mostPacked bounds a packed snapshot, and mostUnpacked its contents, in bytes. An archive has at most 32 MiB of documents, and
// a tar adds about 1 KiB to each. The memory of a job is 128 MiB.
const (
	mostPacked   = 32 * chunkSize
	mostUnpacked = 64 << 20
)

// HeadLimits bounds the JSON of a Snapshot without its documents. Users who can change ConfigMaps can replace it.
var HeadLimits = boundedjson.Limits{Bytes: 1 << 20, Depth: 16, Items: 16 << 10, Values: 64 << 10, String: 256 << 10}

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
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return Snapshot{}, fmt.Errorf("unpack the snapshot: %w", err)
	}
	limited := &io.LimitedReader{R: zip, N: mostUnpacked + 1}
	s, err := unpack(limited)
	if err == nil {
		// gzip's checksum comes after the last byte that tar reads.
		_, err = io.Copy(io.Discard, limited)
	}
	switch {
	case limited.N == 0:
		return Snapshot{}, fmt.Errorf("unpack the snapshot: it has more than %d bytes", mostUnpacked)
	case err != nil:
		return Snapshot{}, fmt.Errorf("unpack the snapshot: %w", err)
	}
	return s, nil
}

// unpack reads a snapshot from its tar.
func unpack(from io.Reader) (s Snapshot, err error) {
	in := tar.NewReader(from)
	head, err := next(in)
	if errors.Is(err, io.EOF) {
		return s, io.ErrUnexpectedEOF
	}
	if err == nil {
		err = HeadLimits.Check(head.Data)
	}
	if err == nil {
		err = json.Unmarshal(head.Data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", headName, err)
	}
	for {
		document, err := next(in)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.Documents = append(s.Documents, document)
	}
}

// next reads the next file of a tar. The error is io.EOF at its end.
func next(in *tar.Reader) (archive.File, error) {
	header, err := in.Next()
	if err != nil {
		return archive.File{}, err
	}
	if most := archive.DefaultLimits().Document; header.Size > most {
		return archive.File{}, fmt.Errorf("%s has %d bytes: at most %d are allowed", header.Name, header.Size, most)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return archive.File{}, fmt.Errorf("%s: %w", header.Name, err)
	}
	return archive.File{Path: header.Name, Data: data}, nil
}
