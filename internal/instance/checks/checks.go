// Package checks sends nginx the requests that spec.checks declares, as a client would.
package checks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// mostBody is how much of a response body is read, in bytes.
const mostBody = 64 << 10

// mostHeader bounds the headers of a response, in bytes: process 1 reads them within the memory of the pod.
const mostHeader = 256 << 10

// limits bounds the JSON of the checks, which users who can change ConfigMaps can replace. An application has at most 16 checks.
var limits = boundedjson.Limits{Bytes: nginxconf.MaxTotalBytes, Depth: 8, Items: 64, Values: 1024, String: 64 << 10}

// Parse reads the checks of a configuration.
func Parse(files map[string]string) (instanceapi.Checks, error) {
	var all instanceapi.Checks
	text, declared := files[instanceapi.FileChecks]
	if !declared {
		return all, nil
	}
	if err := limits.Check([]byte(text)); err != nil {
		return all, fmt.Errorf("read %s: %w", instanceapi.FileChecks, err)
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return all, fmt.Errorf("read %s: %w", instanceapi.FileChecks, err)
	}
	return all, nil
}

// client sends the requests.
type client struct {
	// answered is called with the status of each response. It may be nil.
	answered func(status int)
}

// request is a check, and where it is declared.
type request struct {
	instanceapi.Check
	field string
}

// failures sends all requests at the same time and returns the problems of the responses, in the order of the requests.
func (s client) failures(ctx context.Context, all []request) []instanceapi.Problem {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, r := range all {
		group.Go(func() { errs[i] = s.send(ctx, r.Check) })
	}
	group.Wait()
	var found []instanceapi.Problem
	for i, err := range errs {
		if err != nil {
			found = append(found, instanceapi.Problem{Message: fmt.Sprintf("%s (%s): %v", all[i].field, all[i].Check, err)})
		}
	}
	return found
}

func (s client) send(ctx context.Context, c instanceapi.Check) error {
	timeout := time.Duration(max(1, c.TimeoutSeconds)) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("there is no answer within %s", timeout))
	defer cancel()
	request, err := newRequest(ctx, c)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: dialer(c), DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: mostHeader, TLSClientConfig: &tls.Config{
		ServerName: request.URL.Hostname(),
		//nolint:gosec // The question is what this pod answers. Nobody else can be at the other end.
		InsecureSkipVerify: true,
	}}
	// RoundTrip does not follow redirects.
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return reason(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if s.answered != nil {
		s.answered(answer.StatusCode)
	}
	return evaluate(ctx, c, answer)
}

func newRequest(ctx context.Context, c instanceapi.Check) (*http.Request, error) {
	url, _ := strings.CutPrefix(c.String(), http.MethodGet+" ")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if c.Host != "" {
		// nginx matches server names without a port.
		request.Host = c.Host
	}
	request.Header.Set("User-Agent", "nginx-operator-check")
	return request, nil
}

// dialer connects to this pod regardless of the host name. It tries IPv6 too, because a server may listen on IPv6 only.
func dialer(c instanceapi.Check) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		var firstErr error
		for _, ip := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
			conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, uint16(c.Port)).String())
			if err == nil {
				return writeProxyHeader(conn, c)
			}
			if firstErr == nil {
				firstErr = err
			}
		}
		return nil, firstErr
	}
}

// writeProxyHeader writes the header of the PROXY protocol, version 1
// (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt).
func writeProxyHeader(conn net.Conn, c instanceapi.Check) (net.Conn, error) {
	if !c.ProxyProtocol {
		return conn, nil
	}
	if _, err := fmt.Fprintf(conn, "PROXY TCP4 127.0.0.1 127.0.0.1 %d %d\r\n", c.Port, c.Port); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// reason returns why there is no response, without the parts of the error that are the same for every check.
func reason(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("nginx closes the connection without a response")
	default:
		return err
	}
}

func evaluate(ctx context.Context, c instanceapi.Check, answer *http.Response) error {
	switch {
	case c.ExpectStatus == 0 && answer.StatusCode >= 400:
		return fmt.Errorf("the status is %d, which is not from 200 to 399", answer.StatusCode)
	case c.ExpectStatus != 0 && answer.StatusCode != c.ExpectStatus:
		return fmt.Errorf("the status is %d; expected %d", answer.StatusCode, c.ExpectStatus)
	case c.ExpectBody == "":
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBody))
	if err != nil {
		return reason(ctx, err)
	}
	if !strings.Contains(string(body), c.ExpectBody) {
		return fmt.Errorf("the answer does not contain %q", c.ExpectBody)
	}
	return nil
}
