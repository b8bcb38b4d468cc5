// Package boundedjson decodes JSON that untrusted parties sent. A bound on bytes alone does not bound memory: each "{}," of
// a list of structs is 3 bytes long, and takes hundreds of bytes once it is decoded. The package only uses the standard
// library.
package boundedjson

import (
	"encoding/json"
	"fmt"
	"io"
)

// Limits bounds a JSON text, whatever its types are. They are checked while the text is read, before anything is decoded.
type Limits struct {
	// Bytes is the maximum length of the text.
	Bytes int
	// Depth is the maximum number of nested lists and objects.
	Depth int
	// Items is the maximum number of items in one list, and of fields in one object. Duplicate fields count.
	Items int
	// Values is the maximum number of items and fields in the whole text.
	Values int
	// String is the maximum length of a string, a name or a number as it is written, in bytes.
	String int
	// Name is the maximum length of the name of a field as it is written, in bytes. 0 means as long as any string.
	Name int
}

// LimitError reports a text that exceeds a limit.
type LimitError struct {
	// What is exceeded, and the limit.
	What  string
	Limit int
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the JSON has more than %d %s", e.Limit, e.What)
}

// Read reads a text from a stream. It stops at the first byte that exceeds a limit. The error is a LimitError then.
func (l Limits) Read(from io.Reader) ([]byte, error) {
	return io.ReadAll(l.Reader(io.LimitReader(from, int64(l.Bytes)+1)))
}

// Reader returns a reader of a text that fails with a LimitError at the first byte that exceeds a limit.
func (l Limits) Reader(from io.Reader) *Reader {
	return &Reader{from: from, scanner: scanner{limits: l}}
}

// Check returns a LimitError if a text exceeds a limit. It is for callers that decode the text themselves.
func (l Limits) Check(text []byte) error {
	_, err := l.Count(text)
	return err
}

// Count returns the number of items and fields in a text, or a LimitError if it exceeds a limit.
func (l Limits) Count(text []byte) (values int, err error) {
	s := scanner{limits: l}
	err = s.scan(text)
	return s.values, err
}

// Unmarshal decodes a text that is within the limits, and cuts what exceeds the bounds of the fields (see Bound). The error
// is a LimitError if the text exceeds a limit.
func (l Limits) Unmarshal(text []byte, into any) error {
	if err := l.Check(text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	return Bound(into)
}

// Reader checks what is read.
type Reader struct {
	from    io.Reader
	scanner scanner
}

// Values returns the number of items and fields that were read.
func (r *Reader) Values() int { return r.scanner.values }

// Embedded returns the maximum number of values in JSON texts that the strings which were read contain.
func (r *Reader) Embedded() int { return r.scanner.embedded }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if exceeded := r.scanner.scan(p[:n]); exceeded != nil {
		return 0, exceeded
	}
	return n, err
}

// scanner follows the structure of a text without decoding it. What is not JSON is left to the decoder.
type scanner struct {
	limits Limits
	// items are the numbers of items of the open lists and objects.
	items []int
	// bytes, values and length (of the current string or number) were seen so far.
	bytes, values, length int
	// embedded is how often something in a string may begin a value, if the string contains JSON.
	embedded int
	// last is the length of the last string, which is a name if a colon follows.
	last            int
	quoted, escaped bool
}

// scan checks the next part of a text.
func (s *scanner) scan(part []byte) error {
	if s.bytes += len(part); s.bytes > s.limits.Bytes {
		return &LimitError{"bytes", s.limits.Bytes}
	}
	for _, c := range part {
		if s.quoted {
			s.inString(c)
		} else if err := s.outside(c); err != nil {
			return err
		}
		if s.length > s.limits.String {
			return &LimitError{"bytes in one string", s.limits.String}
		}
	}
	return nil
}

func (s *scanner) inString(c byte) {
	s.length++
	switch {
	case s.escaped:
		s.escaped = false
		if c == 'u' {
			// It may be any of the characters below.
			s.embedded++
		}
	case c == '{', c == '[', c == ',':
		s.embedded++
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted, s.last, s.length = false, s.length-1, 0
	}
}

func (s *scanner) outside(c byte) error {
	switch c {
	case '"':
		s.quoted, s.length = true, 0
	case '{', '[':
		s.length = 0
		if len(s.items) == s.limits.Depth {
			return &LimitError{"nested lists and objects", s.limits.Depth}
		}
		s.items = append(s.items, 0)
		return s.value()
	case '}', ']':
		s.length = 0
		s.items = s.items[:max(0, len(s.items)-1)]
	case ',':
		s.length = 0
		return s.value()
	case ':':
		s.length = 0
		if s.limits.Name > 0 && s.last > s.limits.Name {
			return &LimitError{"bytes in one name", s.limits.Name}
		}
	case ' ', '\t', '\r', '\n':
		s.length = 0
	default:
		s.length++
	}
	return nil
}

// value counts a value: the first one of a list or an object, or the next one.
func (s *scanner) value() error {
	if s.values++; s.values > s.limits.Values {
		return &LimitError{"values", s.limits.Values}
	}
	if last := len(s.items) - 1; last >= 0 {
		if s.items[last]++; s.items[last] > s.limits.Items {
			return &LimitError{"items in one list or object", s.limits.Items}
		}
	}
	return nil
}
