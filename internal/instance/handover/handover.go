// Package handover has the other shards of a cache store what this one has, before its pod ends.
//
// nginx knows the ring. The instance manager requests each object from an address where nginx passes the request on to the
// shard that edges ask while this one is away. That shard asks the owner, which still answers, and proves that the object was
// not purged: see docs/decisions/0037.
package handover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/internal/instance/cachefile"
	"example.com/nginx-operator/internal/instanceapi"
)

const (
	// parallel is the number of objects that are handed over at a time.
	parallel = 8
	// refusalPause is how long nothing is requested after a refusal: the nodes learn a moment late where a pod is that has
	// become ready, and for a second after a failure, nginx requests from a shard that no edge will look for the object in.
	// maxRefused is after how many pauses in a row the others are known to take nothing: they end as well, or are full.
	refusalPause = 1200 * time.Millisecond
	maxRefused   = 5
	// maxUnknown is after how many objects in a row that this shard did not give there are no others: all were purged, or
	// the ring has changed.
	maxUnknown = 1000
	// requestTimeout bounds the request for one object. A larger one is stored all the same.
	requestTimeout = 5 * time.Second
)

// Reasons for an early end.
var (
	errRefused = errors.New("the other shards take no objects")
	errUnknown = errors.New("this shard owns none of them any more, or all were purged")
)

// Shard is what is known of a pod that may be a shard.
type Shard struct {
	// Dir is the folder of the objects.
	Dir string
	// Address is where nginx passes requests on to the other shards. Nothing listens there if the pod is no shard, or if there
	// is no other one.
	Address string
	// Ending is the file for which nginx takes no objects from other shards that end.
	Ending string
	// Verify returns an error if it is not known what was purged: the shard would hand that over.
	Verify func() error
}

// Begin notes that the pod does not end.
func (s Shard) Begin() error {
	if err := os.Remove(s.Ending); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// End hands the objects over, the newest first, until ctx is done.
func (s Shard) End(ctx context.Context) {
	if !listens(ctx, s.Address) {
		return
	}
	if err := s.Verify(); err != nil {
		slog.Warn("hand over no objects to the other shards, because it is not known what was purged", "error", err)
		return
	}
	if err := os.WriteFile(s.Ending, nil, 0o644); err != nil { //nolint:gosec // nginx's workers look for it
		slog.Warn("cannot tell nginx that the shard ends", "error", err)
	}
	began := time.Now()
	g := newGiver(s.Address)
	objects, complete := s.list(ctx)
	err := g.give(ctx, s.Dir, objects)
	log := slog.With("requested", g.requested.Load(), "answered", g.answered.Load(), "took", time.Since(began).Round(time.Millisecond).String())
	switch {
	case errors.Is(err, context.DeadlineExceeded), err == nil && !complete:
		log.Warn("handed over only the newest objects to the other shards: the others would need a longer drain.timeoutSeconds")
	case err != nil:
		log.Warn("did not hand over all objects to the other shards", "error", err)
	default:
		log.Info("handed over the objects to the other shards")
	}
}

// list returns the objects, if reading the folders takes no more than half of the time. It reports whether these are all.
func (s Shard) list(ctx context.Context) ([]listed, bool) {
	if deadline, ok := ctx.Deadline(); ok {
		half, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = half
	}
	return newestFirst(ctx, s.Dir)
}

func listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			slog.Warn("cannot hand over objects to other shards", "error", err)
		}
		return false
	}
	return conn.Close() == nil
}

// giver requests objects.
type giver struct {
	address string
	client  *http.Client
	// requested is the number of objects that the others were to take, and answered that of those that they have.
	requested, answered atomic.Int64
	// unknown is the number of objects in a row that this shard did not give.
	unknown atomic.Int64

	mu sync.Mutex
	// pauses is the number of all pauses, refused that of those in a row, and resume the end of the last one.
	pauses, refused int
	resume          time.Time
}

func newGiver(address string) *giver {
	return &giver{address: address, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: parallel, DisableCompression: true},
		Timeout:   requestTimeout,
		// A redirect is an object like another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// give hands over the objects in a folder.
func (g *giver) give(ctx context.Context, dir string, objects []listed) error {
	defer g.client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range parallel {
		group.Go(func() error {
			buffer := make([]byte, cachefile.Head)
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(objects) {
					return nil
				}
				var target *url.URL
				if target, buffer = read(objects[n].path(dir), buffer); target == nil {
					continue
				}
				g.requested.Add(1)
				if err := g.request(ctx, target); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// read returns the URL of the object in a file; nil if there is no object to hand over: it is no longer fresh, or it is a
// copy of an object of another shard.
func read(path string, buffer []byte) (target *url.URL, longer []byte) {
	file, err := os.Open(path) //nolint:gosec // in the folder of the cache
	if err != nil {
		return nil, buffer // nginx has removed it.
	}
	defer func() { _ = file.Close() }() // It was only read.
	object, buffer, err := cachefile.Read(file, buffer)
	if err != nil || time.Now().After(object.Valid) || object.Has(instanceapi.HeaderCacheEnding) {
		return nil, buffer
	}
	return locate(string(object.Key)), buffer
}

// locate returns the URL at the end of a key; nil if the key is that of a part of an object.
func locate(key string) *url.URL {
	fields := strings.Fields(key)
	if len(fields) == 0 {
		return nil
	}
	for _, field := range fields[:len(fields)-1] {
		if strings.HasPrefix(field, "bytes=") {
			return nil
		}
	}
	scheme, rest, ok := strings.Cut(fields[len(fields)-1], "://")
	host, path, found := strings.Cut(rest, "/")
	if !ok || !found || host == "" || strings.HasPrefix(path, "/") {
		return nil
	}
	return &url.URL{Scheme: scheme, Host: host, Opaque: "/" + path}
}

// request has the next shard store an object.
func (g *giver) request(ctx context.Context, target *url.URL) error {
	for {
		pause, before := g.pause()
		if err := wait(ctx, pause); err != nil {
			return err
		}
		status, err := g.status(ctx, target)
		switch _, now := g.pause(); {
		case err != nil || status >= http.StatusInternalServerError:
			if !g.refuse() {
				return errors.Join(errRefused, err)
			}
		case now == before:
			return g.count(status)
		}
		// Another request was refused meanwhile, so this one may have reached a shard that no edge will look in.
	}
}

// pause returns how long to wait before a request, and the number of pauses so far.
func (g *giver) pause() (wait time.Duration, pauses int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.resume), g.pauses
}

// refuse begins a pause. It returns false if there were too many.
func (g *giver) refuse() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.After(g.resume) {
		g.pauses, g.refused, g.resume = g.pauses+1, g.refused+1, now.Add(refusalPause)
	}
	return g.refused < maxRefused
}

// count counts an answer.
func (g *giver) count(status int) error {
	g.mu.Lock()
	g.refused = 0
	g.mu.Unlock()
	if status != http.StatusSeeOther {
		g.answered.Add(1)
		g.unknown.Store(0)
		return nil
	}
	// It was purged, or varies with a header of requests.
	if g.unknown.Add(1) >= maxUnknown {
		return errUnknown
	}
	return nil
}

// status returns the status of the next shard's answer.
func (g *giver) status(ctx context.Context, target *url.URL) (int, error) {
	response, err := g.client.Do((&http.Request{
		Method: http.MethodHead, Host: target.Host, Header: http.Header{"X-Forwarded-Proto": {target.Scheme}},
		URL: &url.URL{Scheme: "http", Host: g.address, Opaque: target.Opaque},
	}).WithContext(ctx))
	if err != nil {
		return 0, fmt.Errorf("request an object: %w", err)
	}
	if response.Header.Get(instanceapi.HeaderCacheEnding) == "" {
		err = fmt.Errorf("another server listens on %s", g.address)
	}
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

func wait(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
