package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"time"
)

// Limits are the bounds of a server.
type Limits struct {
	// Connections bounds the open connections. A new one is not refused: it replaces another one, of the client that has
	// the most.
	Connections int
	// Header bounds the header of a request, in bytes.
	Header int
	// ReadHeader, Read, Write and Idle are the timeouts of a request's header, of a whole request, of its answer, and of
	// a connection between requests. A handler can extend Read and Write.
	ReadHeader, Read, Write, Idle time.Duration
	// RequestRate bounds the requests of a connection that are answered per second, after a burst of RequestBurst.
	// Further ones wait. 0: there is no bound.
	RequestRate, RequestBurst int
	// Streams bounds the concurrent requests of a connection with HTTP/2; 0: HTTP/2 is not served.
	Streams int
}

// ProbeLimits returns the limits of a server that only answers probes.
func ProbeLimits() Limits {
	return Limits{
		Connections: 64, Header: 8 << 10, ReadHeader: 5 * time.Second, Read: 5 * time.Second, Write: 15 * time.Second, Idle: 10 * time.Second,
		RequestRate: 10, RequestBurst: 50,
	}
}

// receiveBuffer bounds what a connection with HTTP/2 receives, in bytes, before a handler reads it. HTTP/2 needs 64 KiB.
const receiveBuffer = 128 << 10

// Server is an HTTP server with bounds.
type Server struct {
	http http.Server
	open *connections
}

// New returns a server of a handler. What fails in a connection, such as a handshake, is logged.
func New(handler http.Handler, l Limits, failures *log.Logger) *Server {
	open := newConnections(l)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(l.Streams > 0)
	return &Server{open: open, http: http.Server{
		ConnState:         open.track,
		ConnContext:       open.attach,
		Handler:           paced(handler),
		ReadHeaderTimeout: l.ReadHeader,
		ReadTimeout:       l.Read,
		WriteTimeout:      l.Write,
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    l.Header,
		Protocols:         protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: l.Streams, MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer,
		},
		ErrorLog: failures,
	}}
}

// Parts returns the server and the listener to serve, for a caller that runs them. encrypt is the configuration of TLS; nil:
// none.
func (s *Server) Parts(l net.Listener, encrypt *tls.Config) (*http.Server, net.Listener) {
	l = listener{l, s.open}
	if encrypt != nil {
		encrypt = encrypt.Clone()
		if s.http.Protocols.HTTP2() {
			encrypt.NextProtos = append(encrypt.NextProtos, "h2")
		}
		encrypt.NextProtos = append(encrypt.NextProtos, "http/1.1")
		l = tls.NewListener(l, encrypt)
	}
	return &s.http, l
}

// Serve answers until the server is closed or shut down, which is no error. encrypt is as for Parts.
func (s *Server) Serve(l net.Listener, encrypt *tls.Config) error {
	server, l := s.Parts(l, encrypt)
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Run answers until the context ends. Requests then have the grace period to end.
func (s *Server) Run(ctx context.Context, l net.Listener, encrypt *tls.Config, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l, encrypt) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.http.Shutdown(bounded); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// Close ends the server and its connections.
func (s *Server) Close() error { return s.http.Close() }
