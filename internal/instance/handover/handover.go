// Package handover has the other shards of a cache store what this one has, before it ends to be replaced.
//
// nginx of this shard knows which shard is asked instead: each object is requested from an address where nginx passes the
// request on by the ring. That shard gets the object from this one, with the same proof as in a hand-over to another number
// of shards that it was not purged: see docs/decisions/0037.
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
	// maxRefused is after how many objects in a row the others are known to take none: they end as well, or are full.
	maxRefused = 100
	// requestTimeout bounds the request for one object.
	requestTimeout = 5 * time.Second
)

// errRefused means that the others take no objects.
var errRefused = errors.New("the other shards take no objects")

// Shard is what is known of a pod that may be a shard.
type Shard struct {
	// Dir is the folder of the objects.
	Dir string
	// Address is where nginx passes requests on to the other shards. Nothing listens there if the pod is no shard, or if there
	// is no other one.
	Address string
	// Ending is the file for which nginx takes no objects from other shards that end.
	Ending string
}

// Begin notes that the pod does not end.
func (s Shard) Begin() error {
	if err := os.Remove(s.Ending); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// End hands the objects over, the newest first, for as long as atMost.
func (s Shard) End(ctx context.Context, atMost time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if !listens(ctx, s.Address) {
		return
	}
	if err := os.WriteFile(s.Ending, nil, 0o644); err != nil { //nolint:gosec // nginx's workers look for it
		slog.Warn("cannot tell nginx that the shard ends", "error", err)
	}
	g := newGiver(s.Address)
	err := g.give(ctx, newestFirst(ctx, s.Dir))
	log := slog.With("requested", g.requested.Load(), "taken", g.taken.Load(), "took", time.Since(began).Round(time.Millisecond).String())
	switch {
	case err == nil:
		log.Info("handed the objects over to the other shards")
	case errors.Is(err, context.DeadlineExceeded):
		log.Warn("handed only the newest objects over to the other shards: drain.timeoutSeconds allows no more time")
	default:
		log.Warn("did not hand all objects over to the other shards", "error", err)
	}
}

func listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			slog.Warn("cannot hand objects over to other shards", "error", err)
		}
		return false
	}
	return conn.Close() == nil
}

// giver requests objects.
type giver struct {
	address string
	client  *http.Client
	// requested is the number of objects that the others were to take, taken that of those that they have, and refused that
	// of those in a row which they did not take.
	requested, taken, refused atomic.Int64
}

func newGiver(address string) *giver {
	return &giver{address: address, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: parallel, DisableCompression: true},
		Timeout:   requestTimeout,
		// A redirect is an object like another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (g *giver) give(ctx context.Context, files []string) error {
	defer g.client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range parallel {
		group.Go(func() error {
			buffer := make([]byte, cachefile.Head)
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(files) {
					return nil
				}
				var target *url.URL
				if target, buffer = read(files[n], buffer); target == nil {
					continue
				}
				if err := g.request(ctx, target); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// read returns the URL of the object in a file; nil if there is no object to hand over: it is no longer fresh, or another
// shard that has ended has handed it over itself.
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
	req := (&http.Request{
		Method: http.MethodHead, Host: target.Host, Header: http.Header{"X-Forwarded-Proto": {target.Scheme}},
		URL: &url.URL{Scheme: "http", Host: g.address, Opaque: target.Opaque},
	}).WithContext(ctx)
	g.requested.Add(1)
	status, err := g.status(req)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && status == http.StatusSeeOther:
		// It was purged, or varies with a header of requests.
		g.refused.Store(0)
	case err == nil && status < http.StatusInternalServerError:
		g.taken.Add(1)
		g.refused.Store(0)
	case g.refused.Add(1) >= maxRefused:
		return errors.Join(errRefused, err)
	}
	return nil
}

func (g *giver) status(req *http.Request) (int, error) {
	response, err := g.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("request an object: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
