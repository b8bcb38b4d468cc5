package store

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// following is what was seen of the requests of one operation.
type following struct {
	mu     sync.Mutex
	status int
	err    error
	// ended ends the requests of an operation whose context outlives it; nil: the operation's
	// context does.
	ended context.Context
	// abandon ends everything, soon.
	abandon func()
}

type followingKey struct{}

// follow makes the context of an operation whose requests are looked at.
func follow(ctx context.Context) context.Context {
	return context.WithValue(ctx, followingKey{}, &following{})
}

// followed is what was seen so far; nil: the operation is not followed.
func followed(ctx context.Context) *following {
	f, _ := ctx.Value(followingKey{}).(*following)
	return f
}

// cleanUp is how long taking away the parts of a failed upload may take.
const cleanUp = 10 * time.Second

// outlive makes the context of an operation which its client must clean up after. When it is
// stopped, because its caller's context ends or for a reason of its own, its requests end, but
// the client can still send a DELETE for a while.
func outlive(ctx context.Context) (op context.Context, stop context.CancelCauseFunc, end context.CancelFunc) {
	ended, stop := context.WithCancelCause(ctx)
	op, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var once sync.Once
	f := &following{ended: ended}
	f.abandon = func() { once.Do(func() { time.AfterFunc(cleanUp, cancel) }) }
	context.AfterFunc(ended, f.abandon)
	return context.WithValue(op, followingKey{}, f), stop, func() { stop(nil); cancel() }
}

// begin has a request end when the operation does, unless it cleans up.
func (f *following) begin(r *http.Request) *http.Request {
	if f.ended == nil || r.Method == http.MethodDelete {
		return r
	}
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(f.ended, cancel) //nolint:contextcheck // two contexts end a request: its own, and the operation's
	return r.WithContext(ctx)
}

// saw keeps how a request ended. That of a clean-up says nothing about the operation.
func (f *following) saw(r *http.Request, response *http.Response, err error) {
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

// kind is what the last request that ended says about the operation.
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
