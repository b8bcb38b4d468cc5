// Package load asks an HTTP server again and again and counts what goes wrong: every
// request that is not answered as it should be, for whatever reason.
//
// Its clients are naive on purpose. They write to connections of their own, because
// net/http quietly repeats a request that is lost in a dead connection, and so hides
// what is to be found. A client never repeats anything. The server may end a
// connection by answering "Connection: close"; a client follows, and that is no failure.
package load

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Run is a load that is under way.
type Run struct {
	options Options
	stats   *stats
	known   *revisions
	stop    context.CancelFunc
	done    chan struct{}
}

// Start starts all clients. They go on until Stop, the end of ctx, or of the options'
// Duration, and then finish the requests that are under way.
func Start(ctx context.Context, options Options) (*Run, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	secure, err := options.tlsConfig()
	if err != nil {
		return nil, err
	}
	r := &Run{options: options, stats: newStats(), known: newRevisions(options.Revisions), done: make(chan struct{})}
	var clients []*client
	for _, target := range options.Targets {
		for _, kind := range options.Clients {
			for range kind.Count {
				c, err := newClient(r, kind, target, secure, len(clients))
				if err != nil {
					return nil, err
				}
				clients = append(clients, c)
			}
		}
	}
	if options.Duration > 0 {
		ctx, r.stop = context.WithTimeout(ctx, options.Duration)
	} else {
		ctx, r.stop = context.WithCancel(ctx)
	}
	go r.run(ctx, clients)
	return r, nil
}

// Reachable waits until something listens at every target: a Service that was made a
// moment ago is not known to every node yet.
func Reachable(ctx context.Context, options Options) error {
	for _, target := range options.Targets {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", target)
		for ; err != nil; conn, err = dialer.DialContext(ctx, "tcp", target) {
			if !wait(ctx, failurePause) {
				return fmt.Errorf("%s cannot be reached: %w", target, err)
			}
		}
		_ = conn.Close()
	}
	return nil
}

func (r *Run) run(ctx context.Context, clients []*client) {
	defer close(r.done)
	defer r.stop()
	pace := r.options.pace()
	var running sync.WaitGroup
	for i, c := range clients {
		// Spread over the first interval, so that they do not all ask at once.
		delay := pace / time.Duration(len(clients)) * time.Duration(i)
		running.Go(func() { c.loop(ctx, delay, pace) })
	}
	running.Wait()
	r.stats.end()
}

// Submit tells that answers may be of this revision from now on. It has to be called
// before the revision is given to whom is asked.
func (r *Run) Submit(revision string) { r.known.add(revision) }

// Done is closed when all clients have ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Report tells what has happened so far.
func (r *Run) Report() Report { return r.stats.report() }

// Stop ends the run, waits for the requests that are under way, and tells what happened.
func (r *Run) Stop() Report {
	r.stop()
	<-r.done
	return r.stats.report()
}
