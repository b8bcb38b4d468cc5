//go:build store

package store_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// answering starts a proxy in front of the S3 server and returns its URL. If answer returns true
// for a request, it has responded to the request itself.
func answering(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	target, err := url.Parse(s3.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		// The host is part of the signature.
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	// Keep the read buffer small: unread data stays with the client, so that the client notices how
	// slow the proxy is.
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetReadBuffer(32 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ErrorLog = server.Config.ErrorLog
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// refuse reads the whole request and responds with an error, as S3 does.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) bool {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>"+message+"</Message></Error>")
	return true
}

// line is a connection to the S3 server that a test can cut or stall.
type line struct {
	url string
	// left is how many bytes of uploads pass before the line breaks. If negative, there is no
	// limit.
	left atomic.Int64
	// hold makes the line stall instead of break.
	hold bool

	mu    sync.Mutex
	conns []net.Conn
}

func newLine(t *testing.T, left int64, hold bool) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{url: "http://" + listener.Addr().String(), hold: hold}
	l.left.Store(left)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { l.carry(in) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
		group.Wait()
	})
	return l
}

func (l *line) carry(in net.Conn) {
	out, err := net.Dial("tcp", strings.TrimPrefix(s3.url, "http://"))
	if err != nil {
		_ = in.Close()
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, in, out)
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	if l.pass(out, in) && l.hold {
		// The client has to notice the stall by itself.
		_, _ = in.Read(make([]byte, 0, 1))
		return
	}
	_, _ = in.Close(), out.Close()
}

// pass reports whether the line broke.
func (l *line) pass(to io.Writer, from io.Reader) bool {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if err != nil {
			return false
		}
		if before := l.left.Load(); before >= 0 {
			if l.left.Store(max(0, before-int64(n))); before < int64(n) {
				return true
			}
		}
		if _, err := to.Write(part[:n]); err != nil {
			return false
		}
	}
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}
