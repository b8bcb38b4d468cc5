package importset

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/fcgi"
	"slices"
	"strings"
)

// Echo stands for every backend: it answers a request by HTTP, HTTPS or FastCGI with what it received.
type Echo struct {
	plain, fast *queue
	tls         *tls.Config
	server      *http.Server
}

// NewEcho starts an echo with a certificate for HTTPS.
func NewEcho(certificate tls.Certificate) *Echo {
	e := &Echo{plain: newQueue(), fast: newQueue(), tls: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	e.server = &http.Server{Handler: http.HandlerFunc(echoHTTP), Protocols: &http.Protocols{}} //nolint:gosec // Only nginx reaches it.
	e.server.Protocols.SetHTTP1(true)
	e.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = e.server.Serve(e.plain) }() // it ends with Close
	go func() { _ = fcgi.Serve(e.fast, http.HandlerFunc(echoFastCGI)) }()
	return e
}

// Close ends the echo. The caller closes the listeners.
func (e *Echo) Close() error {
	return errors.Join(e.plain.Close(), e.fast.Close(), e.server.Close())
}

// Serve answers the connections of a listener until it is closed.
func (e *Echo) Serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go e.serve(c)
	}
}

// serve finds out the protocol from the first byte of a connection.
func (e *Echo) serve(c net.Conn) {
	p := &peeked{Conn: c, reader: bufio.NewReader(c)}
	first, err := p.reader.Peek(1)
	switch {
	case err != nil:
		_ = c.Close() // nothing was received
	case first[0] == 0x16:
		e.plain.add(tls.Server(p, e.tls))
	case first[0] == 0x01:
		e.fast.add(p)
	case first[0] < ' ':
		_ = c.Close() // another protocol, such as uwsgi
	default:
		e.plain.add(p)
	}
}

// echoHTTP answers with the request. Paths of missing things are answered with 404, so that configurations that handle
// errors do so.
func echoHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Backend", "echo")
	if strings.Contains(r.URL.Path, "missing") {
		w.WriteHeader(http.StatusNotFound)
	}
	lines := []string{fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Proto), "Host: " + r.Host}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		lines = append(lines, name+": "+strings.Join(r.Header[name], ", "))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		lines = append(lines, err.Error())
	}
	_, _ = fmt.Fprintf(w, "%s\n\n%s", strings.Join(lines, "\n"), body) // nginx may have gone
}

// echoFastCGI answers with the parameters of the request.
func echoFastCGI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Backend", "echo")
	lines := []string{fmt.Sprintf("%s %s", r.Method, cmp.Or(r.RequestURI, r.URL.String()))}
	environment := fcgi.ProcessEnv(r)
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		lines = append(lines, name+"="+environment[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		lines = append(lines, name+": "+strings.Join(r.Header[name], ", "))
	}
	_, _ = fmt.Fprintln(w, strings.Join(lines, "\n")) // nginx may have gone
}

// peeked is a connection whose first byte was read.
type peeked struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) { return p.reader.Read(b) }

// queue is a listener whose connections come from another one.
type queue struct {
	connections chan net.Conn
	closed      chan struct{}
}

func newQueue() *queue { return &queue{make(chan net.Conn), make(chan struct{})} }

func (q *queue) add(c net.Conn) {
	select {
	case q.connections <- c:
	case <-q.closed:
		_ = c.Close() // nobody reads it any more
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.connections:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	select {
	case <-q.closed:
	default:
		close(q.closed)
	}
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
