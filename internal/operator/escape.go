package operator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// escaping sends what is applied so that the API server reads it as it was meant. It reads the JSON
// of server-side apply as YAML, which refuses some characters unless they are escaped, and takes
// others for the end of a line; JSON allows them as they are
// (https://yaml.org/spec/1.2.2/#51-character-set). Without this, DEL in a single variable of the
// environment would keep an application from being written, and from being told about.
type escaping struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (e escaping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Content-Type") != string(types.ApplyYAMLPatchType) || r.Body == nil {
		return e.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := closed(r.Body, err); err != nil {
		return nil, err
	}
	body = escape(body)
	// A RoundTripper must not change the request that it is given.
	r = r.Clone(r.Context())
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body = io.NopCloser(bytes.NewReader(body))
	return e.next.RoundTrip(r)
}

func closed(body io.Closer, err error) error {
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("read what is to be applied: %w", err)
	}
	return nil
}

// escape is the same JSON, of characters that YAML reads as JSON does. They are in texts alone.
func escape(text []byte) []byte {
	if !bytes.ContainsFunc(text, foreign) {
		return text
	}
	escaped := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if foreign(c) {
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
		} else {
			escaped = append(escaped, text[:size]...)
		}
		text = text[size:]
	}
	return escaped
}

// foreign are the characters that JSON has as they are, and YAML has not.
func foreign(c rune) bool {
	return c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff
}
