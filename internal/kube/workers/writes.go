package workers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// writeTimeout bounds one write. Admission webhooks may take up to 30 seconds.
const writeTimeout = 35 * time.Second

// NewTransport bounds the time of each write, so that one that hangs ends before its pass does. It does not bound reads,
// because watches last.
func NewTransport(next http.RoundTripper) http.RoundTripper { return boundedWrites{next, writeTimeout} }

type boundedWrites struct {
	next    http.RoundTripper
	timeout time.Duration
}

// RoundTrip implements http.RoundTripper.
func (b boundedWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return b.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.timeout)
	response, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if ctx.Err() != nil && r.Context().Err() == nil {
			err = fmt.Errorf("the API server did not answer within %s: %w", b.timeout, err)
		}
		cancel()
		return nil, err
	}
	response.Body = &cancelingBody{response.Body, cancel}
	return response, nil
}

// cancelingBody ends the context of a request when its answer has been read.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (c *cancelingBody) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
