package store

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// following records the requests of one operation.
type following struct {
	mu     sync.Mutex
	status int
	err    error
	// ended ends the requests of an operation whose own context lasts longer. It is nil if the
	// operation's context ends them.
	ended context.Context
	// abandon ends the operation after a short time for clean-up.
	abandon func()
}

type requestRecordKey struct{}

// follow returns the context of an operation whose requests are recorded.
func follow(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestRecordKey{}, &following{})
}

// followed returns the record of an operation's requests, or nil if they are not recorded.
func followed(ctx context.Context) *following {
	f, _ := ctx.Value(requestRecordKey{}).(*following)
	return f
}

// cleanUp bounds the removal of the parts of a failed upload.
const cleanUp = 10 * time.Second

// outlive returns a context for an operation that its client has to clean up. When the operation is
// stopped, by its caller's context or by stop, its requests end, but the client can still send
// DELETE requests for a short time.
func outlive(ctx context.Context) (op context.Context, stop context.CancelCauseFunc, end context.CancelFunc) {
	ended, stop := context.WithCancelCause(ctx)
	op, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var once sync.Once
	f := &following{ended: ended}
	f.abandon = func() { once.Do(func() { time.AfterFunc(cleanUp, cancel) }) }
	context.AfterFunc(ended, f.abandon)
	return context.WithValue(op, requestRecordKey{}, f), stop, func() { stop(nil); cancel() }
}

// begin makes a request end with the operation, unless it is part of the clean-up.
func (f *following) begin(r *http.Request) *http.Request {
	if f.ended == nil || r.Method == http.MethodDelete {
		return r
	}
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(f.ended, cancel) //nolint:contextcheck // two contexts end a request: its own, and the operation's
	return r.WithContext(ctx)
}

// record records how a request ended. Requests of the clean-up say nothing about the operation and are
// ignored.
func (f *following) record(r *http.Request, response *http.Response, err error) {
	if _, stalled := errors.AsType[*stalledError](err); stalled && f.abandon != nil {
		f.abandon()
	}
	if r.Method == http.MethodDelete && f.ended != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.status = err, 0
	if err == nil {
		f.status = response.StatusCode
	}
}

// kind classifies the last request that ended.
func (f *following) kind() Kind {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return kindOfNetwork(f.err)
	}
	return kindOfStatus(f.status)
}
