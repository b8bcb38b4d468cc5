package load_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/nginx-operator/test/eventually"
	"example.com/nginx-operator/test/load"
)

const body = "revision={revision} {method} {length} {sum}\n"

// echo responds like the configurations under test.
func echo(revision *atomic.Value) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("X-Revision", revision.Load().(string))
		_, _ = fmt.Fprintf(w, "revision=%s %s %d %x\n", revision.Load(), r.Method, len(content), crc32.ChecksumIEEE(content))
	})
}

func serving(name string) *atomic.Value {
	v := &atomic.Value{}
	v.Store(name)
	return v
}

// every returns one kind of clients for each combination.
func every() []load.Clients {
	return []load.Clients{
		{Expect: body},
		{Expect: body, KeepAlive: true},
		{Expect: body, Method: "POST", BodyBytes: 5000},
		{Expect: body, Method: "POST", BodyBytes: 5000, KeepAlive: true},
	}
}

// run sends requests until there were n.
func run(t *testing.T, n int64, options load.Options) load.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := load.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	for r.Report().Requests < n && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	report := r.Stop()
	if report.Requests < n {
		t.Fatalf("there were only %v", report)
	}
	return report
}

func address(s *httptest.Server) string { return s.Listener.Addr().String() }

func TestGoodServer(t *testing.T) {
	revision := serving("1")
	server := httptest.NewServer(echo(revision))
	defer server.Close()
	report := run(t, 400, load.Options{Targets: []string{address(server)}, Clients: every(), RevisionHeader: "X-Revision", Revisions: []string{"1"}})
	if report.Failed != 0 {
		t.Errorf("a good server gives %v", report)
	}
	if len(report.ByClients) != 4 {
		t.Errorf("the kinds of clients are %v", report.ByClients)
	}
	for _, tally := range report.ByClients {
		if tally.Requests == 0 {
			t.Errorf("%s has sent no request", tally.Clients)
		}
	}
	if l := report.Latency; l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.Max {
		t.Errorf("the latency is %+v", l)
	}
}

// TestRevisions: a new revision is accepted only if it was submitted.
func TestRevisions(t *testing.T) {
	revision := serving("1")
	server := httptest.NewServer(echo(revision))
	defer server.Close()
	r, err := load.Start(t.Context(), load.Options{Targets: []string{address(server)}, Clients: every(), Revisions: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(name string) {
		t.Helper()
		eventually.Holds(t, 20*time.Second, "revision "+name+" is seen", func() bool {
			return slices.Contains(load.Names(r.Report().Revisions), name)
		})
	}
	seen("1")
	r.Submit("2")
	revision.Store("2")
	seen("2")
	if report := r.Report(); report.Failed != 0 {
		t.Errorf("a submitted revision gives %v", report)
	}
	revision.Store("3")
	eventually.Holds(t, 20*time.Second, "revision 3 is a failure", func() bool { return r.Report().Failures[load.UnknownRevision] > 0 })
	report := r.Stop()
	if report.Failures[load.UnknownRevision] == 0 || report.Failed != report.Failures[load.UnknownRevision] {
		t.Errorf("an unknown revision gives %v", report)
	}
	if names := load.Names(report.Revisions); len(names) != 2 {
		t.Errorf("revisions %v were seen", names)
	}
}

// raw serves each connection with a function.
func raw(t *testing.T, serve func(conn *net.TCPConn, r *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn.(*net.TCPConn), bufio.NewReader(conn))
			}()
		}
	}()
	return listener.Addr().String()
}

// next reads one request; false: there is none.
func next(r *bufio.Reader) bool {
	request, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestFailures(t *testing.T) {
	answering := func(text string) func(*net.TCPConn, *bufio.Reader) {
		return func(conn *net.TCPConn, r *bufio.Reader) {
			for next(r) {
				_, _ = io.WriteString(conn, text)
			}
		}
	}
	closing := func(text string) func(*net.TCPConn, *bufio.Reader) {
		return func(conn *net.TCPConn, r *bufio.Reader) {
			if next(r) {
				_, _ = io.WriteString(conn, text)
			}
		}
	}
	tests := []struct {
		name  string
		serve func(*net.TCPConn, *bufio.Reader)
		want  load.Kind
	}{
		{"closes before the answer", closing(""), load.EOF},
		{"closes within the headers", closing("HTTP/1.1 200 OK\r\nContent-Le"), load.Truncated},
		{"closes within the body", closing("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"), load.Truncated},
		{"closes within a chunk", closing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok"), load.Truncated},
		{"resets", func(conn *net.TCPConn, r *bufio.Reader) {
			next(r)
			_ = conn.SetLinger(0)
		}, load.Reset},
		{"resets in the answer", func(conn *net.TCPConn, r *bufio.Reader) {
			next(r)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok")
			time.Sleep(20 * time.Millisecond)
			_ = conn.SetLinger(0)
		}, load.Reset},
		{"says nothing", func(_ *net.TCPConn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) }, load.Timeout},
		{"stops in the answer", func(conn *net.TCPConn, r *bufio.Reader) {
			next(r)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok")
			_, _ = io.Copy(io.Discard, r)
		}, load.Timeout},
		{"wrong status", answering("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nok"), load.WrongStatus},
		{"wrong body", answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"), load.WrongBody},
		{"no HTTP", answering("SSH-2.0-OpenSSH_9.2\r\n\r\n"), load.Malformed},
	}
	for _, keepAlive := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, keepalive %t", tt.name, keepAlive), func(t *testing.T) {
				t.Parallel()
				// Only the timeout case needs a short timeout; a slow machine may take long to
				// respond.
				timeout := time.Minute
				if tt.want == load.Timeout {
					timeout = 200 * time.Millisecond
				}
				report := run(t, 3, load.Options{
					Targets: []string{raw(t, tt.serve)}, Timeout: timeout,
					Clients: []load.Clients{{KeepAlive: keepAlive, Expect: "ok"}},
				})
				if report.Failed != report.Requests || report.Failures[tt.want] != report.Requests {
					t.Errorf("all of the requests should fail by %q: %v", tt.want, report)
				}
				if len(report.Examples) == 0 || report.Examples[0].Kind != tt.want || report.Examples[0].Text == "" {
					t.Errorf("the examples are %v", report.Examples)
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	report := run(t, 3, load.Options{Targets: []string{listener.Addr().String()}, Clients: every()})
	if report.Failures[load.Refused] != report.Requests || report.Connections != 0 {
		t.Errorf("without a listener: %v", report)
	}
}

func TestReachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options := load.Options{Targets: []string{listener.Addr().String()}}
	if err := load.Reachable(t.Context(), options); err != nil {
		t.Error(err)
	}
	_ = listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if load.Reachable(ctx, options) == nil {
		t.Error("the address can be reached, but no server listens")
	}
}

// TestIdleConnectionClosed: a connection that the server closes without notice, while it is idle
// after its first response, loses a request. net/http would retry on a new connection and hide the
// loss of every second request.
func TestIdleConnectionClosed(t *testing.T) {
	var served atomic.Int64
	target := raw(t, func(conn *net.TCPConn, r *bufio.Reader) {
		if next(r) {
			served.Add(1)
			_, _ = io.WriteString(conn, good)
		}
	})
	options := func(notice bool) load.Options {
		// The server has closed the connection before the client sends the next request, also on a busy machine.
		return load.Options{Targets: []string{target}, Clients: []load.Clients{{KeepAlive: true, Think: 250 * time.Millisecond, NoticeClose: notice}}}
	}
	naive := run(t, 10, options(false))
	lost := naive.Failures[load.EOF] + naive.Failures[load.Reset]
	if naive.Failed != lost || lost < naive.Requests/2-1 || naive.Closed != 0 {
		t.Errorf("a naive client should lose every second request: %v", naive)
	}
	// The client did not retry what the server did not answer.
	if answered := naive.Requests - naive.Failed; served.Load() != answered {
		t.Errorf("the server has answered %d times, the client counts %d", served.Load(), answered)
	}
	if good := run(t, 10, options(true)); good.Failed != 0 {
		t.Errorf("a client that checks the connection first should lose no request: %v", good)
	}
}

// TestOrderlyClose: a server that announces the close of a connection causes no failure.
func TestOrderlyClose(t *testing.T) {
	target := raw(t, func(conn *net.TCPConn, r *bufio.Reader) {
		for i := 1; next(r); i++ {
			if i == 3 {
				_, _ = io.WriteString(conn, strings.Replace(good, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
				return
			}
			_, _ = io.WriteString(conn, good)
		}
	})
	report := run(t, 30, load.Options{Targets: []string{target}, Clients: []load.Clients{{KeepAlive: true, Expect: "ok"}}})
	if report.Failed != 0 || report.Closed < 10 || report.Connections > report.Closed+1 {
		t.Errorf("%d connections, %d closed in order: %v", report.Connections, report.Closed, report)
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(echo(serving("1")))
	server.StartTLS()
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	options := load.Options{
		Targets: []string{address(server)}, Host: "example.com", TLS: true, CA: authority, Clients: every(), RevisionHeader: "X-Revision",
	}
	report := run(t, 100, options)
	serial := server.Certificate().SerialNumber.Text(16)
	if names := load.Names(report.Serials); report.Failed != 0 || len(names) != 1 || names[0] != serial {
		t.Errorf("the served certificate is %s, seen were %v: %v", serial, names, report)
	}

	options.Host = "other.test"
	if report := run(t, 4, options); report.Failures[load.Untrusted] != report.Requests {
		t.Errorf("a certificate for another name gives %v", report)
	}
	options.Host = "example.com"
	options.CA = otherCA(t)
	if report := run(t, 4, options); report.Failures[load.Untrusted] != report.Requests {
		t.Errorf("a certificate of another CA gives %v", report)
	}
	server.TLS.MaxVersion = tls.VersionTLS11
	if _, err := load.Start(t.Context(), load.Options{Targets: options.Targets, Clients: every(), TLS: true}); err == nil {
		t.Error("TLS without a CA is accepted: nothing would be verified")
	}
}

// otherCA returns a CA certificate that has signed nothing.
func otherCA(t *testing.T) string {
	t.Helper()
	authority, err := load.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return authority.PEM()
}

// TestMix: a response with different revisions in header and body is a failure.
func TestMix(t *testing.T) {
	target := raw(t, func(conn *net.TCPConn, r *bufio.Reader) {
		for next(r) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Revision: 1\r\nContent-Length: 10\r\n\r\nrevision=2")
		}
	})
	report := run(t, 3, load.Options{
		Targets: []string{target}, RevisionHeader: "X-Revision", Clients: []load.Clients{{Expect: "revision={revision}"}},
	})
	if report.Failures[load.WrongBody] != report.Requests {
		t.Errorf("two revisions in one answer: %v", report)
	}
}

// TestPace: clients keep to the rate and to their think time. A busy machine makes fewer requests.
func TestPace(t *testing.T) {
	server := httptest.NewServer(echo(serving("1")))
	defer server.Close()
	measure := func(o load.Options) float64 {
		o.Targets, o.Duration = []string{address(server)}, time.Second
		r, err := load.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		<-r.Done()
		return r.Report().Rate()
	}
	if rate := measure(load.Options{Rate: 100, Clients: every()}); rate > 110 || rate == 0 {
		t.Errorf("at 100 requests a second, it made %.0f", rate)
	}
	if rate := measure(load.Options{Clients: []load.Clients{{KeepAlive: true, Think: 50 * time.Millisecond}}}); rate > 21 || rate == 0 {
		t.Errorf("thinking for 50 ms, it made %.0f requests a second", rate)
	}
}

func TestBadOptions(t *testing.T) {
	for name, o := range map[string]load.Options{
		"no target":        {Clients: every()},
		"no clients":       {Targets: []string{"127.0.0.1:1"}},
		"no port":          {Targets: []string{"127.0.0.1"}, Clients: every()},
		"no authority":     {Targets: []string{"127.0.0.1:1"}, Clients: every(), TLS: true},
		"impossible paths": {Targets: []string{"127.0.0.1:1"}, Clients: []load.Clients{{Path: "/\x7f"}}},
	} {
		if _, err := load.Start(t.Context(), o); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}
