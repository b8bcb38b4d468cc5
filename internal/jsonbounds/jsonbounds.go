// Package jsonbounds bounds JSON before it is decoded. A bound on bytes is not enough: an empty element of two bytes can
// become hundreds of bytes of a Go type, and each level of nesting costs a decoder stack.
package jsonbounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits are the bounds of a JSON text.
type Limits struct {
	// Bytes bounds its length.
	Bytes int64
	// Elements bounds the values in all its arrays and objects.
	Elements int
	// Depth bounds how deep they nest.
	Depth int
}

// Errors of texts beyond a bound.
var (
	ErrBytes    = errors.New("too long")
	ErrElements = errors.New("too many elements")
	ErrDepth    = errors.New("nested too deep")
)

// Decode reads a JSON text to its end and decodes it into a value. It decodes nothing from a text beyond the limits.
func Decode(r io.Reader, into any, l Limits) error {
	data, err := io.ReadAll(io.LimitReader(r, l.Bytes+1))
	if err != nil {
		return err
	}
	return Unmarshal(data, into, l)
}

// Unmarshal is json.Unmarshal for a text within the limits.
func Unmarshal(data []byte, into any, l Limits) error {
	if int64(len(data)) > l.Bytes {
		return fmt.Errorf("%w: more than %d bytes", ErrBytes, l.Bytes)
	}
	scan := NewScanner(l)
	if _, err := scan.Write(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Scanner counts the elements of the JSON text that is written to it, in any pieces. It accepts texts that are no JSON:
// decoders refuse them, after at most as many elements.
type Scanner struct {
	limits            Limits
	elements, depth   int
	inString, escaped bool
}

// NewScanner returns a scanner of a text. It ignores the limit of bytes.
func NewScanner(l Limits) *Scanner { return &Scanner{limits: l} }

// Write implements io.Writer. It returns ErrElements or ErrDepth for a text beyond the limits.
func (s *Scanner) Write(piece []byte) (int, error) {
	for _, b := range piece {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = b == '\\', b != '"'
		case b == '"':
			s.inString = true
		case b == '[' || b == '{':
			s.depth++
			s.elements++
		case b == ']' || b == '}':
			s.depth--
		case b == ',':
			s.elements++
		}
		if s.elements > s.limits.Elements {
			return 0, fmt.Errorf("%w: more than %d", ErrElements, s.limits.Elements)
		}
		if s.depth > s.limits.Depth {
			return 0, fmt.Errorf("%w: more than %d levels", ErrDepth, s.limits.Depth)
		}
	}
	return len(piece), nil
}
