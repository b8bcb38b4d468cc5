package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"filippo.io/age"
)

// Writer writes an archive. Its methods have to be called in the order of the format: Documents,
// Content for each volume, Secret for each secret, Close. After an error the archive cannot be
// completed, and every method returns that error.
type Writer struct {
	ctx      context.Context
	limits   Limits
	info     Info
	packed   *counter
	gzip     *gzip.Writer
	size     int64
	tar      *tar.Writer
	spool    io.ReadSeeker
	manifest *manifestWriter
	sequence sequence
	digest   hash.Hash
	buffer   []byte
	volumes  int
	err      error
}

// counter counts and hashes what is written to w.
type counter struct {
	w      io.Writer
	digest hash.Hash
	size   int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.digest.Write(p[:n])
	c.size += int64(n)
	return n, err
}

// NewWriter begins an archive with the info. The manifest is spooled and takes about 200 bytes for each
// entry. It is spooled to spool, such as a temporary file, which the caller has to remove, or to memory
// if spool is nil. After the context has ended, all methods fail.
func NewWriter(ctx context.Context, w io.Writer, info Info, spool io.ReadWriteSeeker, limits Limits) (*Writer, error) {
	info = info.normal()
	if err := info.validate(); err != nil {
		return nil, fmt.Errorf("archive %s: %w", infoName, err)
	}
	text, err := encode(info, "  ")
	if err != nil {
		return nil, err
	}
	if spool == nil {
		spool = &memory{}
	}
	a := &Writer{
		ctx: ctx, limits: limits, info: info, packed: &counter{w: w, digest: sha256.New()}, spool: spool,
		sequence: sequence{limits: limits}, digest: sha256.New(), buffer: make([]byte, 64<<10),
	}
	// Most content is already compressed, and a backup must not take CPU from the server.
	if a.gzip, err = gzip.NewWriterLevel(a.packed, gzip.BestSpeed); err != nil {
		return nil, err
	}
	a.tar = tar.NewWriter(unpackedWriter{a})
	if a.manifest, err = newManifestWriter(spool); err != nil {
		return nil, fmt.Errorf("spool the manifest: %w", err)
	}
	return a, a.document(File{Path: infoName, Data: text})
}

// unpackedWriter writes the uncompressed tar.
type unpackedWriter struct{ *Writer }

// Write implements io.Writer. It keeps a margin of one buffer, since a reader compares the sizes at
// other positions.
func (a unpackedWriter) Write(p []byte) (int, error) {
	n, err := a.gzip.Write(p)
	a.size += int64(n)
	if err == nil && suspicious(a.size+int64(len(a.buffer)), a.packed.size, &a.limits) {
		err = fmt.Errorf("%w: readers would reject the archive as a decompression bomb", tooCompressed(&a.limits))
	}
	return n, err
}

// fail keeps the first error.
func (a *Writer) fail(err error) error {
	if a.err == nil {
		a.err = err
	}
	return a.err
}

// Documents writes all documents, in the order of the format.
func (a *Writer) Documents(files []File) error {
	places := make(map[string]place, len(files))
	for _, f := range files {
		at, err := locate(f.Path)
		if err == nil && !at.document() {
			err = errors.New("it is not a document")
		}
		if err != nil {
			return a.fail(fmt.Errorf("archive %s: %w", clip(f.Path), err))
		}
		places[f.Path] = at
	}
	files = slices.SortedStableFunc(slices.Values(files), func(x, y File) int {
		switch {
		case places[x.Path].after(places[y.Path]):
			return 1
		case places[y.Path].after(places[x.Path]):
			return -1
		}
		return 0
	})
	for _, f := range files {
		if err := a.document(f); err != nil {
			return err
		}
	}
	return nil
}

func (a *Writer) document(f File) error {
	return a.file(Entry{Path: f.Path, Type: Regular, Size: int64(len(f.Data)), Mode: 0o644}, a.info.TakenAt, bytes.NewReader(f.Data))
}

// Secret encrypts and writes a secret. The plaintext is never held in memory as a whole, nor
// written anywhere. Secrets must be written in the order of their names.
func (a *Writer) Secret(name string, plain io.Reader, recipients ...age.Recipient) error {
	// The tar needs the size in advance, and it depends on the recipients.
	var sealed bytes.Buffer
	into, err := age.Encrypt(&sealed, recipients...)
	if err == nil {
		_, err = io.Copy(into, io.LimitReader(plain, a.limits.Secret+1))
	}
	if err == nil {
		err = into.Close()
	}
	if err != nil {
		return a.fail(fmt.Errorf("encrypt secret %s: %w", clip(name), err))
	}
	e := Entry{Path: secretPrefix + name + secretSuffix, Type: Regular, Size: int64(sealed.Len()), Mode: 0o600}
	return a.file(e, a.info.TakenAt, &sealed)
}

// file writes a file of a known size, and its line of the manifest.
func (a *Writer) file(e Entry, modified time.Time, r io.Reader) error {
	if err := a.begin(e, modified); err != nil {
		return err
	}
	a.digest.Reset()
	n, err := io.CopyBuffer(io.MultiWriter(a.tar, a.digest), &interruptible{a.ctx, io.LimitReader(r, e.Size)}, a.buffer)
	if err != nil {
		return a.fail(fmt.Errorf("archive %s: %w", clip(e.Path), err))
	}
	if n < e.Size {
		return a.fail(fmt.Errorf("archive %s: it shrank from %d to %d bytes while it was read: back up again", clip(e.Path), e.Size, n))
	}
	e.SHA256 = hex.EncodeToString(a.digest.Sum(nil))
	return a.line(e)
}

// begin writes the header of an entry.
func (a *Writer) begin(e Entry, modified time.Time) error {
	if a.err != nil {
		return a.err
	}
	if err := a.ctx.Err(); err != nil {
		return a.fail(err)
	}
	if _, err := a.sequence.next(e); err != nil {
		return a.fail(fmt.Errorf("archive %s: %w", clip(e.Path), err))
	}
	if err := a.tar.WriteHeader(e.header(modified)); err != nil {
		return a.fail(fmt.Errorf("archive %s: %w", clip(e.Path), err))
	}
	return nil
}

func (a *Writer) line(value any) error {
	if err := a.manifest.line(value); err != nil {
		return a.fail(fmt.Errorf("spool the manifest: %w", err))
	}
	return nil
}

// Close writes the manifest and ends the archive. The caller closes what it is written to.
func (a *Writer) Close() (Summary, error) {
	if a.err != nil {
		return Summary{}, a.err
	}
	if a.volumes != len(a.info.Content) {
		return Summary{}, a.fail(fmt.Errorf("archive: %s names %d content volumes, but %d were written", infoName, len(a.info.Content), a.volumes))
	}
	totals := a.sequence.totals
	digest, err := a.manifest.finish(totals)
	if err == nil {
		_, err = a.spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return Summary{}, a.fail(fmt.Errorf("spool the manifest: %w", err))
	}
	e := Entry{Path: manifestName, Type: Regular, Size: a.manifest.size, Mode: 0o644}
	if err := a.begin(e, a.info.TakenAt); err != nil {
		return Summary{}, err
	}
	if _, err := io.CopyBuffer(a.tar, io.LimitReader(a.spool, e.Size), a.buffer); err != nil {
		return Summary{}, a.fail(fmt.Errorf("archive %s: %w", manifestName, err))
	}
	if err := errors.Join(a.tar.Close(), a.gzip.Close()); err != nil {
		return Summary{}, a.fail(fmt.Errorf("archive: %w", err))
	}
	a.err = errors.New("the archive is complete")
	return Summary{Totals: totals, Size: a.packed.size, SHA256: hex.EncodeToString(a.packed.digest.Sum(nil)), ManifestSHA256: digest}, nil
}

// interruptible is a reader that a context ends.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// memory is a spool without a file. It is read once, from where it was written first.
type memory struct{ bytes.Buffer }

// Seek implements io.Seeker.
func (*memory) Seek(int64, int) (int64, error) { return 0, nil }
