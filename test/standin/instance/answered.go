package instance

import (
	"bytes"
	"encoding/json"
	"net/http"

	"example.com/nginx-operator/internal/instanceapi"
)

// answered calls then after each request: order reports whether it was an order, and ok whether the client got a status
// that it can read, whatever was done to the answer on the way.
func answered(handler http.Handler, then func(order, ok bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok := false
		// A handler may break the connection off.
		defer func() { then(r.URL.Path == instanceapi.PathOrders, ok) }()
		copied := &copier{ResponseWriter: w, code: http.StatusOK}
		handler.ServeHTTP(copied, r)
		var status instanceapi.Status
		ok = r.Context().Err() == nil && copied.code == http.StatusOK &&
			json.Unmarshal(copied.body.Bytes(), &status) == nil && status.Protocol == instanceapi.Protocol
	})
}

// copier keeps what is written to a client, up to a bound.
type copier struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// maxCopied bounds what a copier keeps.
const maxCopied = 1 << 20

// WriteHeader implements http.ResponseWriter.
func (c *copier) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *copier) Write(p []byte) (int, error) {
	if c.body.Len() < maxCopied {
		c.body.Write(p)
	}
	return c.ResponseWriter.Write(p)
}
