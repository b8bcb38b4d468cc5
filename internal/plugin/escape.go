package plugin

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// escaping writes JSON without the control characters that JSON allows and a terminal obeys.
type escaping struct{ w io.Writer }

// Write implements io.Writer. The whole text has to come in one call, as a character may have two bytes.
func (e escaping) Write(text []byte) (int, error) {
	var escaped bytes.Buffer
	rest := text
	for {
		at := bytes.IndexFunc(rest, func(r rune) bool { return r >= 0x7f && r < 0xa0 })
		if at < 0 {
			break
		}
		r, size := utf8.DecodeRune(rest[at:])
		escaped.Write(rest[:at])
		fmt.Fprintf(&escaped, `\u%04x`, r)
		rest = rest[at+size:]
	}
	// Most texts have none, and are not copied.
	for _, part := range [][]byte{escaped.Bytes(), rest} {
		if _, err := e.w.Write(part); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
