// Package encode writes objects of the cluster as JSON and YAML that a terminal can show: without the control characters that
// JSON allows, and that YAML's parser refuses. It is pure.
package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// JSON writes a value as JSON with an indent.
func JSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(escape(text.Bytes()))
	return err
}

// YAML returns a value as YAML.
func YAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(escape(text))
}

// escape escapes the control characters that JSON allows in strings: a delete, and those of eight bits.
func escape(text []byte) []byte {
	next := func(text []byte) int {
		return bytes.IndexFunc(text, func(r rune) bool { return r >= 0x7f && r < 0xa0 })
	}
	// Most texts have none, and are not copied.
	if next(text) < 0 {
		return text
	}
	var escaped bytes.Buffer
	for at := next(text); at >= 0; at = next(text) {
		r, size := utf8.DecodeRune(text[at:])
		escaped.Write(text[:at])
		fmt.Fprintf(&escaped, `\u%04x`, r)
		text = text[at+size:]
	}
	escaped.Write(text)
	return escaped.Bytes()
}
