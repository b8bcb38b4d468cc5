package plugin

import (
	"fmt"
	"io"
	"strings"
)

// escaping writes JSON without the control characters that JSON allows and a terminal obeys.
type escaping struct{ w io.Writer }

// Write implements io.Writer. The whole text has to come in one call, as a character may have two bytes.
func (e escaping) Write(text []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(text) {
		if r >= 0x7f && r < 0xa0 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	if _, err := io.WriteString(e.w, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
