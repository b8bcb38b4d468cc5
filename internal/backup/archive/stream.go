package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

// source reads the compressed stream. At its end it compares the stream with the commit record.
type source struct {
	ctx    context.Context
	r      io.Reader
	commit *Commit
	digest hash.Hash
	size   int64
	// err is an error of reading itself, not of the content.
	err error
}

func newSource(ctx context.Context, r io.Reader, commit *Commit) *source {
	return &source{ctx: ctx, r: r, commit: commit, digest: sha256.New()}
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.digest.Write(p[:n])
	s.size += int64(n)
	switch {
	case s.size > s.commit.Size:
		return 0, refuse("", "the archive is longer than the %d bytes that its commit record says", s.commit.Size)
	case errors.Is(err, io.EOF):
		return n, s.end()
	case err != nil:
		s.err = err
	}
	return n, err
}

func (s *source) end() error {
	if s.size < s.commit.Size {
		return refuse("", "the archive ends after %d of the %d bytes that its commit record says", s.size, s.commit.Size)
	}
	if sum := hex.EncodeToString(s.digest.Sum(nil)); sum != s.commit.SHA256 {
		return refuse("", "the archive's SHA-256 is %s, its commit record says %s: it is damaged, or belongs to another backup", sum, s.commit.SHA256)
	}
	return io.EOF
}

// unpacked reads the tar. It allows only the bytes of the current step, so that nothing can hide in
// what package tar reads by itself.
type unpacked struct {
	r      io.Reader
	source *source
	limits *Limits
	size   int64
	// allowed is the number of bytes left in this step. beyond is the error of reading more.
	allowed int64
	beyond  error
	// record keeps what is read in this step, unless it is nil.
	record *bytes.Buffer
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	if u.allowed == 0 && len(p) > 0 {
		return 0, u.beyond
	}
	n, err := u.r.Read(p[:min(int64(len(p)), u.allowed)])
	u.allowed -= int64(n)
	u.size += int64(n)
	if u.record != nil {
		u.record.Write(p[:n])
	}
	if suspicious(u.size, u.source.size, u.limits) {
		return n, asRefused("", tooCompressed(u.limits))
	}
	return n, err
}

func suspicious(size, compressed int64, limits *Limits) bool {
	return size > limits.Slack && (size-limits.Slack)/limits.Ratio > compressed
}

func tooCompressed(limits *Limits) error {
	return beyond("more than %d bytes are compressed by a factor of more than %d", limits.Slack, limits.Ratio)
}
