package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
)

// The manifest consists of lines of JSON: the format, the entries in their order with the skipped
// files in between, and the totals. It is spooled while the archive is written, and read line by
// line.

type manifestHead struct {
	Format int `json:"format"`
}

type manifestEnd struct {
	Totals *Totals `json:"totals"`
}

// manifestWriter writes the lines to a spool.
type manifestWriter struct {
	spool  *bufio.Writer
	digest hash.Hash
	size   int64
}

func newManifestWriter(spool io.Writer) (*manifestWriter, error) {
	w := &manifestWriter{spool: bufio.NewWriter(spool), digest: sha256.New()}
	return w, w.line(manifestHead{Format: Format})
}

func (w *manifestWriter) line(value any) error {
	text, err := encode(value, "")
	if err != nil {
		return err
	}
	w.digest.Write(text)
	w.size += int64(len(text))
	_, err = w.spool.Write(text)
	return err
}

// finish writes the last line and returns the hash of all lines.
func (w *manifestWriter) finish(totals Totals) (string, error) {
	if err := w.line(manifestEnd{Totals: &totals}); err != nil {
		return "", err
	}
	return hex.EncodeToString(w.digest.Sum(nil)), w.spool.Flush()
}

// fingerprint identifies an entry until it is compared with the manifest: half of a SHA-256.
type fingerprint [16]byte

func (e Entry) fingerprint() fingerprint {
	var text []byte
	for _, s := range []string{e.Path, string(e.Type), e.SHA256, e.Target} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(s)))
		text = append(text, s...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(e.Size))
	text = binary.BigEndian.AppendUint64(text, uint64(e.Mode))
	sum := sha256.Sum256(text)
	return fingerprint(sum[:16])
}

// manifestReader compares the lines with the entries of the archive.
type manifestReader struct {
	lines *bufio.Reader
	// seen holds the entries of the archive. matched is the number of them that the manifest has
	// named so far.
	seen    []fingerprint
	matched int
	limits  Limits
	// skipped holds the first skipped files, as examples.
	skipped []Skipped
	count   int64
}

// shown bounds the number of examples.
const shown = 10

func (m *manifestReader) check(totals Totals) error {
	head, err := m.line()
	if err != nil {
		return err
	}
	if err := checkFormat(manifestName, head); err != nil {
		return err
	}
	for {
		line, err := m.line()
		if err != nil {
			return err
		}
		end, err := m.parseLine(line)
		if err != nil {
			return err
		}
		if end != nil {
			return m.end(totals, *end)
		}
	}
}

// line returns the next line. Every line ends with a line feed, including the last.
func (m *manifestReader) line() ([]byte, error) {
	line, err := m.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, refuse(manifestName, "it has a line of more than %d bytes", lineLength)
	case errors.Is(err, io.EOF):
		return nil, refuse(manifestName, "it ends without its totals")
	}
	return line, err
}

// parseLine parses a line: an entry, a skipped file, or the totals, which come last.
func (m *manifestReader) parseLine(text []byte) (*Totals, error) {
	var line struct {
		Entry
		Skipped string  `json:"skipped"`
		Totals  *Totals `json:"totals"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return nil, refuse(manifestName, "line %d is not valid JSON of this format: %s", int64(m.matched)+m.count+2, clip(err.Error()))
	}
	if rest, _ := io.ReadAll(decoder.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		return nil, refuse(manifestName, "line %d has more than one value", int64(m.matched)+m.count+2)
	}
	switch {
	case line.Totals != nil:
		return line.Totals, nil
	case line.Skipped != "":
		return nil, m.skip(Skipped{Path: line.Path, Reason: line.Skipped})
	case m.matched == len(m.seen):
		return nil, refuse(line.Path, "the manifest lists it, but it is not in the archive")
	case line.fingerprint() != m.seen[m.matched]:
		return nil, refuse(line.Path, "it differs from the manifest: entry %d of the archive has another path, type, size, mode, digest or target", m.matched+1)
	}
	m.matched++
	return nil, nil
}

func (m *manifestReader) skip(s Skipped) error {
	if m.count++; m.count > m.limits.Entries {
		return asRefused(manifestName, beyond("it lists more than %d skipped files", m.limits.Entries))
	}
	if err := checkSkipped(s.Path, m.limits); err != nil {
		return asRefused(s.Path, err)
	}
	if err := (boundedString{"skipped", s.Reason, wordLimit}).validate(); err != nil {
		return refuse(s.Path, "%v", err)
	}
	if len(m.skipped) < shown {
		m.skipped = append(m.skipped, s)
	}
	return nil
}

func (m *manifestReader) end(seen, said Totals) error {
	seen.Skipped = m.count
	switch {
	case m.matched < len(m.seen):
		return refuse(manifestName, "it lists %d of the archive's %d entries", m.matched, len(m.seen))
	case said != seen:
		return refuse(manifestName, "its totals are %+v, the archive's are %+v", said, seen)
	}
	if _, err := m.lines.ReadByte(); err == nil {
		return refuse(manifestName, "it has data after its totals")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
