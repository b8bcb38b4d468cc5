// Package tee keeps what an HTTP handler writes to a client.
package tee

import (
	"bytes"
	"net/http"
)

// maxBody bounds what a Writer keeps, in bytes.
const maxBody = 1 << 20

// Writer passes a response on to a client, and keeps its code and the beginning of its body.
type Writer struct {
	http.ResponseWriter
	Code int
	Body bytes.Buffer
}

// New returns a Writer in front of a client.
func New(w http.ResponseWriter) *Writer { return &Writer{ResponseWriter: w, Code: http.StatusOK} }

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(code int) {
	w.Code = code
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(p []byte) (int, error) {
	if w.Body.Len() < maxBody {
		w.Body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}
