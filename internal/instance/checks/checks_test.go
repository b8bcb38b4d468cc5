package checks

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// site answers with the requested host and path, or as the path says.
func site(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/slow":
		<-r.Context().Done()
	case "/redirect":
		http.Redirect(w, r, "/missing", http.StatusFound)
	case "/missing":
		http.NotFound(w, r)
	default:
		_, _ = io.WriteString(w, r.Host+r.URL.RequestURI()+" of "+r.UserAgent())
	}
}

// portOf returns the port of a server's address.
func portOf(t *testing.T, address string) int32 {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(number)
}

func listening(t *testing.T, secure bool) int32 {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(site))
	start := server.Start
	if secure {
		start = server.StartTLS
	}
	start()
	t.Cleanup(server.Close)
	parsed, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return portOf(t, parsed.Host)
}

// patience is the timeout of checks that are answered, in seconds: a busy machine may take long.
const patience = 30

// set returns a set of checks, with that timeout by default.
func set(all ...instanceapi.Check) Set {
	for i := range all {
		all[i].TimeoutSeconds = cmp.Or(all[i].TimeoutSeconds, patience)
	}
	return Of(instanceapi.Checks{Checks: all})
}

func TestFailures(t *testing.T) {
	plain, secure := listening(t, false), listening(t, true)
	for name, tt := range map[string]struct {
		check instanceapi.Check
		// want is a part of the message; empty: the check passes.
		want string
	}{
		"passes":             {instanceapi.Check{Port: plain, Path: "/"}, ""},
		"with a host":        {instanceapi.Check{Port: plain, Path: "/a?b=c", Host: "shop", ExpectStatus: 200, ExpectBody: "shop/a?b=c of nginx-operator-check"}, ""},
		"with TLS":           {instanceapi.Check{Scheme: "HTTPS", Port: secure, Path: "/", Host: "shop"}, ""},
		"redirected":         {instanceapi.Check{Port: plain, Path: "/redirect"}, ""},
		"expected redirect":  {instanceapi.Check{Port: plain, Path: "/redirect", ExpectStatus: 301}, "the status is 302; expected 301"},
		"missing":            {instanceapi.Check{Port: plain, Path: "/missing"}, "/missing): the status is 404, which is not from 200 to 399"},
		"expected to miss":   {instanceapi.Check{Port: plain, Path: "/missing", ExpectStatus: 404}, ""},
		"another body":       {instanceapi.Check{Port: plain, Path: "/", ExpectBody: "hello"}, `the answer does not contain "hello"`},
		"no answer":          {instanceapi.Check{Port: plain, Path: "/slow", TimeoutSeconds: 1}, "there is no answer within 1s"},
		"plain text for TLS": {instanceapi.Check{Scheme: "HTTPS", Port: plain, Path: "/"}, "first record does not look like a TLS handshake"},
		"no server there":    {instanceapi.Check{Port: 1, Path: "/"}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			found := client{}.failures(t.Context(), set(tt.check).requests)
			if tt.want == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || !strings.HasPrefix(found[0].Message, "spec.checks[0] (GET http") || !strings.Contains(found[0].Message, tt.want) || tt.want == "" {
				t.Errorf("found %v, and not %q", found, tt.want)
			}
		})
	}
}

// TestSilence: a connection that is closed without a response, as nginx does for status 444, is
// reported as such.
func TestSilence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	lines := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		lines <- line
		_ = conn.Close()
	}()
	found := client{}.failures(t.Context(), set(instanceapi.Check{Port: portOf(t, listener.Addr().String()), Path: "/", ProxyProtocol: true}).requests)
	if line := <-lines; !strings.HasPrefix(line, "PROXY TCP4 127.0.0.1 127.0.0.1 ") {
		t.Errorf("the connection begins with %q", line)
	}
	if len(found) != 1 || !strings.Contains(found[0].Message, "closes the connection without a response") && !strings.Contains(found[0].Message, "connection reset") {
		t.Errorf("found %v", found)
	}
}

// TestProber: the pod is not ready before the first success of the checks, nor after several
// failures in a row.
func TestProber(t *testing.T) {
	port := listening(t, false)
	good, bad := set(instanceapi.Check{Port: port, Path: "/"}), set(instanceapi.Check{Port: port, Path: "/missing"})
	p := &Prober{}
	if p.NotReadyReason() != "" {
		t.Errorf("without checks it fails: %s", p.NotReadyReason())
	}
	p.SetChecks("r1", bad, true)
	for i := range threshold {
		if p.NotReadyReason() != "" {
			t.Errorf("after %d failures the pod is not ready: %s", i, p.NotReadyReason())
		}
		p.probe(t.Context())
	}
	if !strings.Contains(p.NotReadyReason(), "404") {
		t.Errorf("after %d failures: %q", threshold, p.NotReadyReason())
	}
	p.SetChecks("r2", good, false)
	if p.NotReadyReason() != "spec.checks have not passed yet" {
		t.Errorf("before the first success: %q", p.NotReadyReason())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	for deadline := time.Now().Add(time.Minute); p.NotReadyReason() != ""; {
		if time.Now().After(deadline) {
			t.Fatalf("it is never ready: %s", p.NotReadyReason())
		}
		p.SetChecks("r2", bad, false)
	}
	cancel()
	<-ended
}

// TestReadiness: spec.readiness keeps a pod from being ready after as many failures as declared.
func TestReadiness(t *testing.T) {
	port := listening(t, false)
	declared := func(path string) Set {
		return ForReadiness(instanceapi.Checks{Readiness: &instanceapi.Readiness{
			Check: instanceapi.Check{Port: port, Path: path, TimeoutSeconds: patience}, PeriodSeconds: 1, FailureThreshold: 2,
		}})
	}
	p := &Prober{}
	if p.Passing() {
		t.Error("it passes before a configuration is served")
	}
	p.SetChecks("r1", declared("/"), p.Passing())
	if p.Passing() {
		t.Error("it passes before the first request")
	}
	p.probe(t.Context())
	if !p.Passing() {
		t.Fatal(p.NotReadyReason())
	}
	p.SetChecks("r2", declared("/missing"), p.Passing())
	for i := range 2 {
		if !p.Passing() {
			t.Errorf("after %d failures the pod is not ready: %s", i, p.NotReadyReason())
		}
		p.probe(t.Context())
	}
	if reason := p.NotReadyReason(); !strings.HasPrefix(reason, "spec.readiness (GET http") || !strings.Contains(reason, "404") {
		t.Errorf("after two failures: %q", reason)
	}
}

// TestParseIsBounded: users who can change ConfigMaps cannot use up the memory of process 1.
func TestParseIsBounded(t *testing.T) {
	for what, text := range map[string]string{
		"items": `{"checks":[` + strings.Repeat("{},", 200_000) + `{}]}`, "nested": strings.Repeat(`{"x":`, 1000), "bytes": strings.Repeat(" ", 1<<20),
	} {
		if _, err := Parse(map[string]string{instanceapi.FileChecks: text}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one that names the %s", err, what)
		}
	}
}

// TestHeadersAreBounded: a response with megabytes of headers is a failure.
func TestHeadersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*mostHeader))
	}))
	t.Cleanup(server.Close)
	check := instanceapi.Check{Port: portOf(t, server.Listener.Addr().String()), Path: "/", TimeoutSeconds: patience}
	if found := (client{}).failures(t.Context(), []request{{check, "spec.checks[0]"}}); len(found) != 1 || !strings.Contains(found[0].Message, "header") {
		t.Errorf("problems: %v", found)
	}
}
