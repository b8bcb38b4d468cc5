package apply

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// yamlEscapingTransport escapes characters in the bodies of server-side apply. The API server parses
// these bodies as YAML, which does not allow some characters that JSON allows, and treats others as
// line breaks (https://yaml.org/spec/1.2.2/#51-character-set,
// https://github.com/yaml/yaml-spec/issues/351). Without it, a DEL in an environment variable would
// prevent an operator from writing and reporting an object.
type yamlEscapingTransport struct{ next http.RoundTripper }

// NewTransport returns a transport for the clients that apply.
func NewTransport(next http.RoundTripper) http.RoundTripper { return yamlEscapingTransport{next} }

// RoundTrip implements http.RoundTripper.
func (e yamlEscapingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Content-Type") != string(types.ApplyYAMLPatchType) || r.Body == nil {
		return e.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := closeBody(r.Body, err); err != nil {
		return nil, err
	}
	body = escapeForYAML(body)
	// A RoundTripper must not modify its request.
	r = r.Clone(r.Context())
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body = io.NopCloser(bytes.NewReader(body))
	return e.next.RoundTrip(r)
}

func closeBody(body io.Closer, err error) error {
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("read the object to apply: %w", err)
	}
	return nil
}

// escapeForYAML returns the same JSON with only such characters as YAML and JSON read in the same
// way. The others occur only within strings.
func escapeForYAML(text []byte) []byte {
	if !bytes.ContainsFunc(text, needsYAMLEscape) {
		return text
	}
	escaped := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if needsYAMLEscape(c) {
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
		} else {
			escaped = append(escaped, text[:size]...)
		}
		text = text[size:]
	}
	return escaped
}

// needsYAMLEscape reports whether a character is legal unescaped in JSON but not in YAML.
func needsYAMLEscape(c rune) bool {
	return c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff
}
