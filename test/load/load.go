// Package load sends requests to an HTTP server and counts everything that goes wrong: every request
// that does not get the expected response, for whatever reason.
//
// Its clients are naive on purpose. They write directly to their connections, because net/http silently
// retries a request that is lost in a dead connection, and so hides what the load should find. A client
// never retries. A server may announce the end of a connection with "Connection: close"; the client then
// closes it, and that is not a failure.
package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// Run is a running load.
type Run struct {
	options Options
	stats   *stats
	known   *revisions
	stop    context.CancelFunc
	done    chan struct{}
}

// Start starts all clients. They run until Stop, the end of ctx, or the end of the options'
// Duration, and then finish their requests in progress.
func Start(ctx context.Context, options Options) (*Run, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	secure, err := options.tlsConfig()
	if err != nil {
		return nil, err
	}
	r := &Run{options: options, stats: newStats(options), known: newRevisions(options.Revisions), done: make(chan struct{})}
	clients, err := r.clients(secure)
	if err != nil {
		return nil, err
	}
	if options.Duration > 0 {
		ctx, r.stop = context.WithTimeout(ctx, options.Duration)
	} else {
		ctx, r.stop = context.WithCancel(ctx)
	}
	go r.run(ctx, clients)
	return r, nil
}

// clients returns the clients of all targets.
func (r *Run) clients(secure *tls.Config) ([]*client, error) {
	var all []*client
	law, each := r.options.Objects.law(), r.options.clients()/len(r.options.Targets)
	for _, target := range r.options.Targets {
		choosers := r.options.Objects.choosers(law, len(all), each)
		for _, kind := range r.options.Clients {
			for range kind.Count {
				c, err := newClient(r, kind, target, secure, len(all), choosers[len(all)%each])
				if err != nil {
					return nil, err
				}
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// Reachable waits until every target accepts connections, because a new Service is not known on
// every node at once.
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
		// Spread the clients over the first interval, so that they do not all start at once.
		delay := pace / time.Duration(len(clients)) * time.Duration(i)
		running.Go(func() { c.loop(ctx, delay, pace) })
	}
	running.Wait()
	r.stats.end()
}

// Submit allows responses with this revision from now on. Call it before the target gets the
// revision.
func (r *Run) Submit(revision string) { r.known.add(revision) }

// Done returns a channel that is closed when all clients have ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Report returns the report so far.
func (r *Run) Report() Report { return r.stats.report() }

// Stop ends the run, waits for the requests in progress, and returns the report.
func (r *Run) Stop() Report {
	r.stop()
	<-r.done
	return r.stats.report()
}
