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
	// maxClients bounds the clients in memory. The one that was not used for the longest time gives way.
	maxClients = 1000
)

var errNoToken = unauthenticated{errors.New("sign in with a token of the cluster")}

// tokenPattern matches a bearer token (https://www.rfc-editor.org/rfc/rfc6750#section-2.1).
var tokenPattern = regexp.MustCompile(`^[-._~+/A-Za-z0-9]+=*$`)

// signedIn are viewers who bring their own token of the API server with each request. Nothing else of a request, such as
// impersonation headers or cookies, reaches the API server.
type signedIn struct {
	config *rest.Config
	max    int

	mu      sync.Mutex
	clients map[viewerID]*signedInClient
}

// signedInClient is a client in memory.
type signedInClient struct {
	viewer *Viewer
	used   time.Time
	expiry *time.Timer
}

// NewSignedIn returns the viewers of a console that many use. Of config, only the address of the API server and its
// certificate authority are used, never its credentials.
func NewSignedIn(config *rest.Config) Viewers {
	return &signedIn{config: rest.AnonymousClientConfig(config), max: maxClients, clients: map[viewerID]*signedInClient{}}
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
	client.used = time.Now()
	client.expiry.Reset(clientLifetime)
	return client.viewer, nil
}

func (s *signedIn) add(id viewerID, token string) (*signedInClient, error) {
	config := rest.CopyConfig(s.config)
	config.BearerToken = token
	viewer, err := NewViewer(config)
	if err != nil {
		return nil, err
	}
	viewer.id = id
	if len(s.clients) >= s.max {
		s.removeOldest()
	}
	client := &signedInClient{viewer: viewer, expiry: time.AfterFunc(clientLifetime, func() { s.remove(id) })}
	s.clients[id] = client
	return client, nil
}

func (s *signedIn) remove(id viewerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, id)
}

func (s *signedIn) removeOldest() {
	var oldest viewerID
	var used time.Time
	for id, client := range s.clients {
		if used.IsZero() || client.used.Before(used) {
			oldest, used = id, client.used
		}
	}
	s.clients[oldest].expiry.Stop()
	delete(s.clients, oldest)
}
