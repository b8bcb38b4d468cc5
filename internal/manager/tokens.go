package manager

import (
	"crypto/sha256"
	"net/http"
	"time"

	"golang.org/x/time/rate"
	utilcache "k8s.io/apimachinery/pkg/util/cache"

	"example.com/nginx-operator/internal/httpserver"
)

// Bounds of the tokens that the API server is asked about. It is asked again only after a minute about a token that it knows,
// and each time about one that it does not, so anyone on the pod network could have the operator ask without end.
const (
	// peerTokens and allTokens are how many tokens that are not proven are accepted each second, of a client address and of all,
	// after the first tokensBurst.
	peerTokens, allTokens = 1, 20
	tokensBurst           = 10
	// reservedTokens takes the place of allTokens for all proven client addresses together. Other clients cannot use it up, so
	// a client whose token has changed is not refused.
	reservedTokens = 5
	// A token is proven for provenTime after the API server has accepted it. A client address is proven for that long after it
	// got metrics: the API server accepts the tokens of all pods, but not for metrics.
	provenTime = 10 * time.Minute
	// maxProven and maxPeers bound what is remembered. A client address that is forgotten starts anew.
	maxProven, maxPeers = 256, 1024
)

// tokens bound the requests of clients that the API server has not accepted yet.
type tokens struct {
	next            http.Handler
	proven          *utilcache.LRUExpireCache
	provenAddresses *utilcache.LRUExpireCache
	peers           *utilcache.LRUExpireCache
	all, reserve    *rate.Limiter
}

// limitTokens returns a handler that calls next, which asks the API server about the token of a request.
func limitTokens(next http.Handler) http.Handler {
	return &tokens{
		next: next, proven: utilcache.NewLRUExpireCache(maxProven), provenAddresses: utilcache.NewLRUExpireCache(maxProven),
		peers: utilcache.NewLRUExpireCache(maxPeers),
		all:   rate.NewLimiter(allTokens, tokensBurst), reserve: rate.NewLimiter(reservedTokens, tokensBurst),
	}
}

// ServeHTTP implements http.Handler.
func (t *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	if _, proven := t.proven.Get(id); !proven && (!t.of(r).Allow() || !t.shared(r).Allow()) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests with unknown tokens: try again", http.StatusTooManyRequests)
		return
	}
	answer := &coded{ResponseWriter: w, code: http.StatusOK}
	t.next.ServeHTTP(answer, r)
	// The filter answers 500 about a token that the API server does not accept, and 401 without one.
	if answer.code != http.StatusUnauthorized && answer.code != http.StatusInternalServerError {
		t.proven.Add(id, nil, provenTime)
	}
	if answer.code == http.StatusOK {
		t.provenAddresses.Add(httpserver.Peer(r), nil, provenTime)
	}
}

// shared returns the limiter that the client address shares with others.
func (t *tokens) shared(r *http.Request) *rate.Limiter {
	if _, proven := t.provenAddresses.Get(httpserver.Peer(r)); proven {
		return t.reserve
	}
	return t.all
}

// of returns the limiter of the client address. Of two first requests at a time, one may get another one.
func (t *tokens) of(r *http.Request) *rate.Limiter {
	peer := httpserver.Peer(r)
	if known, ok := t.peers.Get(peer); ok {
		if limiter, ok := known.(*rate.Limiter); ok {
			return limiter
		}
	}
	limiter := rate.NewLimiter(peerTokens, tokensBurst)
	t.peers.Add(peer, limiter, time.Minute)
	return limiter
}

// coded is a response whose status code is known.
type coded struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (c *coded) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}
