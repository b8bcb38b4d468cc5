package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// writeTimeout is the default of Options.WriteTimeout.
	writeTimeout = 10 * time.Second
	// heartbeat is how often a silent stream sends an empty line, so that both sides notice a broken connection.
	heartbeat = 15 * time.Second
	// settle is how long changes are collected before they are sent together.
	settle = 100 * time.Millisecond
)

// stream sends lines of JSON.
type stream struct {
	writer     http.ResponseWriter
	controller *http.ResponseController
	timeout    time.Duration
}

// streamed opens a stream for a request, unless too many are open.
func (c *console) streamed(feed func(context.Context, *http.Request, *Viewer, *stream) error) func(http.ResponseWriter, *http.Request, *Viewer) {
	return func(w http.ResponseWriter, r *http.Request, v *Viewer) {
		release := c.limiter.acquire(v.owner(r.Context()))
		if release == nil {
			answer(w, http.StatusTooManyRequests, failure{Message: "too many views are open: close some"})
			return
		}
		defer release()
		w.Header().Set("Content-Type", "application/x-ndjson")
		// An nginx in between must not collect lines (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering).
		w.Header().Set("X-Accel-Buffering", "no")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)() //nolint:contextcheck // the end of the console ends the streams of all requests
		s := &stream{writer: w, controller: http.NewResponseController(w), timeout: c.options.WriteTimeout}
		// The page knows that it is connected before there is anything to show.
		if err := s.write(func() error { return nil }); err != nil {
			return
		}
		if err := feed(ctx, r, v, s); err != nil && ctx.Err() == nil {
			code, f := explain(err)
			f.Code = code
			// If the viewer has left, there is nobody to say it to.
			_ = s.send(f)
		}
	}
}

// send sends values, one a line.
func (s *stream) send(values ...any) error {
	return s.write(func() error {
		encoder := json.NewEncoder(s.writer)
		for _, v := range values {
			if err := encoder.Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// beat sends an empty line.
func (s *stream) beat() error {
	return s.write(func() error {
		_, err := s.writer.Write([]byte("\n"))
		return err
	})
}

// write writes before the timeout. A deadline that stays would end a silent stream of HTTP/2
// (https://pkg.go.dev/net/http#ResponseController.SetWriteDeadline).
func (s *stream) write(lines func() error) error {
	if err := s.controller.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	if err := errors.Join(lines(), s.controller.Flush()); err != nil {
		return err
	}
	return s.controller.SetWriteDeadline(time.Time{})
}

// changes reports that there is something to send. The zero value is not ready for use.
type changes struct {
	signal chan struct{}
	once   sync.Once
	failed chan struct{}
	err    error
}

func newChanges() *changes {
	return &changes{signal: make(chan struct{}, 1), failed: make(chan struct{})}
}

// report reports a change. Those that are not sent yet count as one.
func (c *changes) report() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// fail ends the stream with an error.
func (c *changes) fail(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.failed)
	})
}

// pump calls flush at once after a change, and then at most once in settle, until the context ends or something fails.
func (s *stream) pump(ctx context.Context, c *changes, flush func() error) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.failed:
			return c.err
		case <-beat.C:
			err = s.beat()
		case <-c.signal:
			if err = flush(); err == nil && !wait(ctx, settle) {
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
}

// wait waits, and reports whether the context still lasts.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
