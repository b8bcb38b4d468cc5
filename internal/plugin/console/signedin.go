package console

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"regexp"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// maxToken bounds a token, in bytes. Those of ServiceAccounts have about 1 KiB, those of OpenID Connect a few.
	maxToken = 16 << 10
	// clientLifetime is how long the client of a viewer, and with it the token, stays in memory after the last request.
	clientLifetime = 5 * time.Minute
	// unprovenLifetime is the same for a token that the API server has not accepted yet.
	unprovenLifetime = 10 * time.Second
	// maxClients and maxUnproven bound the clients in memory whose tokens the API server has accepted, and not accepted yet.
	// Invented tokens displace none that was accepted.
	maxClients, maxUnproven = 1000, 100
)

var errNoToken = unauthenticated{errors.New("sign in with a token of the cluster")}

// tokenPattern matches a bearer token (https://www.rfc-editor.org/rfc/rfc6750#section-2.1).
var tokenPattern = regexp.MustCompile(`^[-._~+/A-Za-z0-9]+=*$`)

// signedIn are viewers who bring their own token of the API server with each request. Nothing else of a request, such as
// impersonation headers or cookies, reaches the API server.
type signedIn struct {
	config *rest.Config
	// max and maxUnproven are maxClients and maxUnproven, except in tests.
	max, maxUnproven int

	mu      sync.Mutex
	clients map[viewerID]*signedInClient
}

// signedInClient is a client in memory.
type signedInClient struct {
	viewer *Viewer
	// proven says that the API server has accepted the token.
	proven bool
	used   time.Time
	expiry *time.Timer
}

// NewSignedIn returns the viewers of a console that many use. Of config, only the address of the API server and its
// certificate authority are used, never its credentials.
func NewSignedIn(config *rest.Config) Viewers {
	return newSignedIn(config, maxClients, maxUnproven)
}

func newSignedIn(config *rest.Config, most, mostUnproven int) *signedIn {
	return &signedIn{config: rest.AnonymousClientConfig(config), max: most, maxUnproven: mostUnproven, clients: map[viewerID]*signedInClient{}}
}

// Of returns the viewer of a request's token. The API server decides whether it is valid.
func (s *signedIn) Of(r *http.Request) (*Viewer, error) {
	token := bearer(r)
	if len(token) > maxToken || !tokenPattern.MatchString(token) {
		return nil, errNoToken
	}
	id := viewerID(sha256.Sum256([]byte(token)))
	s.mu.Lock()
	defer s.mu.Unlock()
	client, known := s.clients[id]
	if !known {
		var err error
		if client, err = s.add(id, token); err != nil {
			return nil, err
		}
	}
	client.use()
	return client.viewer, nil
}

// use begins the lifetime of a client again.
func (c *signedInClient) use() {
	c.used = time.Now()
	if c.proven {
		c.expiry.Reset(clientLifetime)
	} else {
		c.expiry.Reset(unprovenLifetime)
	}
}

func (s *signedIn) add(id viewerID, token string) (*signedInClient, error) {
	config := rest.CopyConfig(s.config)
	config.BearerToken = token
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &observer{next: next, answered: func(code int) { s.answered(id, code) }}
	})
	viewer, err := NewViewer(config)
	if err != nil {
		return nil, err
	}
	viewer.id = id
	s.makeRoom(false, s.maxUnproven)
	client := &signedInClient{viewer: viewer, expiry: time.AfterFunc(unprovenLifetime, func() { s.expire(id) })}
	s.clients[id] = client
	return client, nil
}

// answered removes a client whose token the API server refuses, and keeps one whose token it accepts. Other answers, such as
// 400, 429 and 502, may come from a proxy or from before the authentication, and prove nothing.
func (s *signedIn) answered(id viewerID, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client, known := s.clients[id]
	switch {
	case !known:
	case code == http.StatusUnauthorized:
		s.remove(id)
	case !client.proven && (code < http.StatusMultipleChoices || code == http.StatusForbidden):
		s.makeRoom(true, s.max)
		client.proven = true
		client.use()
	}
}

// expire removes a client that was not used for its lifetime.
func (s *signedIn) expire(id viewerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A request may have come while this call waited for the lock.
	if client, known := s.clients[id]; known && time.Since(client.used) >= unprovenLifetime {
		s.remove(id)
	}
}

// remove forgets a client. Requests that use it go on.
func (s *signedIn) remove(id viewerID) {
	s.clients[id].expiry.Stop()
	delete(s.clients, id)
}

// makeRoom removes the client that was not used for the longest time if as many as allowed are proven, or unproven.
func (s *signedIn) makeRoom(proven bool, most int) {
	var oldest viewerID
	var used time.Time
	n := 0
	for id, client := range s.clients {
		if client.proven != proven {
			continue
		}
		n++
		if used.IsZero() || client.used.Before(used) {
			oldest, used = id, client.used
		}
	}
	if n >= most {
		s.remove(oldest)
	}
}

// observer reports the status code of each answer of the API server.
type observer struct {
	next     http.RoundTripper
	answered func(code int)
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(r)
	if err == nil {
		o.answered(response.StatusCode)
	}
	return response, err
}

// WrappedRoundTripper lets client-go cancel requests (https://pkg.go.dev/k8s.io/apimachinery/pkg/util/net#RoundTripperWrapper).
func (o *observer) WrappedRoundTripper() http.RoundTripper { return o.next }
