package api

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// death kills an operator at one of its writes: nothing that it sends afterwards reaches the API
// server.
type death struct {
	// at is the number of the write, starting at 1.
	at int64
	// sent carries out that write and drops the response.
	sent bool

	writes   atomic.Int64
	happened atomic.Bool
}

var errDead = errors.New("the operator was killed")

func (d *death) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	n := d.writes.Add(1)
	if n < d.at {
		return next.RoundTrip(r)
	}
	if n == d.at && d.sent {
		response, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			_ = response.Body.Close()
		}
	}
	d.happened.Store(true)
	return nil, errDead
}
