package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// scanner verifies an archive in one pass.
type scanner struct {
	commit   *Commit
	limits   *Limits
	source   *source
	unpacked *unpacked
	tar      *tar.Reader
	sequence sequence
	visit    visitor
	digest   hash.Hash
	// seen holds the fingerprints of the entries so far. expected holds those of an earlier pass,
	// or is nil in the first one.
	seen, expected []fingerprint
	// header holds what was read of the tar up to the content of the current entry. padded is the
	// length of the padding after the previous entry.
	header bytes.Buffer
	padded int
	found  Contents
	// number is the number of entries so far.
	number int
}

// scan reads an archive to its end, passes its entries to the visitor, and returns its contents and
// the fingerprints of its entries. If it returns no error, everything is verified. What the visitor
// gets before that may come from a bad archive, unless expected holds the fingerprints from an
// earlier scan.
func scan(ctx context.Context, r io.Reader, commit Commit, limits Limits, expected []fingerprint, visit visitor) (Contents, []fingerprint, error) {
	if err := commit.validate(); err != nil {
		return Contents{}, nil, err
	}
	if err := within(commit, limits); err != nil {
		return Contents{}, nil, err
	}
	s := &scanner{
		commit: &commit, limits: &limits, source: newSource(ctx, r, &commit), visit: visit,
		digest: sha256.New(), expected: expected, sequence: sequence{limits: limits},
	}
	if expected == nil {
		// A commit record can promise more entries than its archive has bytes.
		s.seen = make([]fingerprint, 0, min(commit.Totals.Entries, commit.Size))
	}
	if err := s.archive(); err != nil {
		return Contents{}, nil, s.explain(err)
	}
	return s.found, s.seen, nil
}

// within refuses an archive at once that would exceed the limits later.
func within(commit Commit, limits Limits) error {
	t := commit.Totals
	if t.Entries > limits.Entries || t.Skipped > limits.Entries || t.Bytes > limits.Bytes {
		return asRefused("", beyond("the commit record's totals %+v are more than the %d entries or %d bytes that are allowed", t, limits.Entries, limits.Bytes))
	}
	return nil
}

// explain distinguishes a bad archive from one that could not be read.
func (s *scanner) explain(err error) error {
	visitor, byVisitor := errors.AsType[visitorError](err)
	_, refused := errors.AsType[*RefusedError](err)
	last := s.sequence.lastPath
	switch {
	case s.source.err != nil:
		return fmt.Errorf("read the archive: %w", s.source.err)
	case byVisitor:
		return visitor.error
	case refused:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return refuse(last, "the archive is damaged here or after this: it ends too early")
	}
	return refuse(last, "the archive is damaged here or after this: %s", clip(err.Error()))
}

func (s *scanner) archive() error {
	packed := bufio.NewReaderSize(s.source, 64<<10)
	unzip, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	unzip.Multistream(false)
	if h := unzip.Header; h.Name != "" || h.Comment != "" || len(h.Extra) > 0 {
		return refuse("", "the gzip header has a name, a comment or an extra field")
	}
	s.unpacked = &unpacked{r: unzip, source: s.source, limits: s.limits}
	s.tar = tar.NewReader(s.unpacked)
	for {
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return s.end(packed)
}

// next reads an entry and reports whether there was one.
func (s *scanner) next() (bool, error) {
	s.header.Reset()
	s.unpacked.record, s.unpacked.allowed = &s.header, int64(s.padded+headerLength)
	s.unpacked.beyond = refuse("", "the header after entry %s has more than %d bytes", clip(s.sequence.lastPath), headerLength)
	h, err := s.tar.Next()
	s.unpacked.record = nil
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	text := s.header.Bytes()
	if len(text) < s.padded || len(bytes.Trim(text[:s.padded], "\x00")) > 0 {
		return false, refuse(s.sequence.lastPath, "it is not followed by zeros up to the next block")
	}
	text = text[s.padded:]
	s.padded = 0
	if h == nil {
		if len(text) != 2*block {
			return false, refuse("", "the tar ends without its end mark, after entry %s", clip(s.sequence.lastPath))
		}
		return false, nil
	}
	return true, s.take(h, text)
}

func (s *scanner) take(h *tar.Header, text []byte) error {
	e, err := entry(h)
	if err != nil {
		return refuse(h.Name, "%v", err)
	}
	if err := checkBlock(text[len(text)-block:]); err != nil {
		return refuse(h.Name, "%v", err)
	}
	at, err := s.sequence.next(e)
	if err != nil {
		return asRefused(e.Path, err)
	}
	t := s.sequence.totals
	if t.Entries > s.commit.Totals.Entries || t.Bytes > s.commit.Totals.Bytes {
		return refuse(e.Path, "with this entry, the archive contains more than its commit record says: %+v", s.commit.Totals)
	}
	s.padded = padding(e.Size)
	s.unpacked.allowed, s.unpacked.beyond = e.Size, io.ErrUnexpectedEOF
	s.digest.Reset()
	c := &content{scanner: s, entry: &e}
	if at.section == manifestSection {
		return s.manifest(c)
	}
	return s.handle(item{Entry: e, place: at, number: s.number, modified: h.ModTime, content: c}, c)
}

func (s *scanner) handle(i item, c *content) error {
	if i.section == infoSection {
		if err := s.readInfo(c); err != nil {
			return err
		}
	} else if err := s.show(i, c); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		return err
	}
	if s.expected == nil {
		s.seen = append(s.seen, c.entry.fingerprint())
	}
	s.number++
	return nil
}

// show passes an entry to the visitor.
func (s *scanner) show(i item, c *content) error {
	if i.section == contentSection && i.rest == "" && !s.found.Info.names(i.index) {
		return refuse(i.Path, "%s does not name this volume", infoName)
	}
	s.found.add(i)
	if i.Type != Regular {
		if err := s.unchanged(c.entry); err != nil {
			return err
		}
	}
	err := s.visit(i)
	if err != nil && c.err != nil && !errors.Is(c.err, io.EOF) {
		return c.err
	}
	if err != nil {
		return visitorError{err}
	}
	return nil
}

// unchanged returns an error if an entry differs from that of an earlier pass.
func (s *scanner) unchanged(e *Entry) error {
	if s.expected == nil || s.number < len(s.expected) && s.expected[s.number] == e.fingerprint() {
		return nil
	}
	return refuse(e.Path, "it has changed since the archive was verified: the archive was replaced")
}

func (s *scanner) readInfo(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.found.Info, err = parseInfo(text); err != nil {
		return err
	}
	if !s.found.Info.same(s.commit.Info) {
		return refuse(infoName, "it differs from the info in the commit record, which belongs to another backup")
	}
	return nil
}

func (s *scanner) manifest(c *content) error {
	if s.expected != nil {
		s.seen = s.expected
	}
	reader := manifestReader{lines: bufio.NewReaderSize(c, lineLength), seen: s.seen, limits: *s.limits}
	if err := reader.check(s.sequence.totals); err != nil {
		return err
	}
	if c.entry.SHA256 != s.commit.ManifestSHA256 {
		return refuse(manifestName, "its SHA-256 is %s, the commit record says %s", c.entry.SHA256, s.commit.ManifestSHA256)
	}
	s.found.Totals, s.found.Skipped = s.sequence.totals, reader.skipped
	s.found.Totals.Skipped = reader.count
	if s.found.Totals != s.commit.Totals {
		return refuse(manifestName, "the totals are %+v, the commit record says %+v", s.found.Totals, s.commit.Totals)
	}
	return nil
}

// end makes sure that nothing follows the last entry, neither in the tar nor after it.
func (s *scanner) end(packed *bufio.Reader) error {
	s.unpacked.allowed = 1
	var one [1]byte
	if _, err := io.ReadFull(s.unpacked, one[:]); err == nil {
		return refuse("", "there is data after the end of the tar")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := packed.ReadByte(); err == nil {
		return refuse("", "there is data after the end of the gzip stream, such as a second stream")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	if s.sequence.last.section != manifestSection {
		return refuse("", "it has no %s", manifestName)
	}
	if there, named := len(s.found.Content), len(s.found.Info.Content); there != named {
		return refuse(infoName, "it names %d content volumes, but the archive contains %d", named, there)
	}
	return nil
}
