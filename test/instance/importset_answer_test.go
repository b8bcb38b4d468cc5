//go:build instance && importset

package instance_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/test/importset"
	"example.com/nginx-operator/test/standin/container"
)

// reply is what a client sees. Failure is set in place of the others if there was no response.
type reply struct {
	Status  int
	Headers http.Header
	Body    string
	// Certificate is the serial number of the one that is presented, and Protocol what is chosen of HTTP/2 and HTTP/1.1.
	Certificate, Protocol string
	Failure               string
}

// answerTime bounds an answer.
const answerTime = 4 * time.Second

// originalAddress returns where the original takes a request.
func originalAddress(r importset.Request) string {
	port, address := r.Port, r.Address
	if r.Implicit {
		port = 8000
	}
	if address == "" {
		address = "127.0.0.1"
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

// importedAddress returns where the import takes it: pods have none of the addresses, apart from their own.
func importedAddress(r importset.Request) string {
	address := "127.0.0.1"
	if ip := net.ParseIP(r.Address); ip.IsLoopback() {
		address = r.Address
	}
	return net.JoinHostPort(address, strconv.Itoa(r.Port))
}

// answers returns the answers of both.
func answers(original, imported *container.Container, r importset.Request) (want, got reply) {
	return query(original, originalAddress(r), r), query(imported, importedAddress(r), r)
}

// ejection is a little more than the time for which nginx does not use a backend that has failed once.
const ejection = 12 * time.Second

// answersAtLast asks both again until their answers are the same, for a bounded time: a limit of requests and a backend that
// is out of use depend on the time.
func answersAtLast(original, imported *container.Container, r importset.Request, deadline time.Time) (want, got reply) {
	for {
		want, got = answers(original, imported, r)
		if same(want, got) || time.Now().After(deadline) {
			return want, got
		}
	}
}

// query sends a request to an address within a container.
func query(c *container.Container, address string, r importset.Request) reply {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	conn, err := dial(ctx, c, address, r)
	if err != nil {
		return reply{Failure: failure(err)}
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return reply{Failure: failure(err)}
	}
	var answer reply
	if r.TLS {
		if r.Path == "/" && r.Header == "" {
			answer.Protocol = protocol(ctx, c, address, r)
		}
		secure := tls.Client(conn, clientTLS(r, "http/1.1"))
		if err := secure.Handshake(); err != nil {
			return reply{Failure: failure(err)}
		}
		answer.Certificate = secure.ConnectionState().PeerCertificates[0].SerialNumber.String()
		conn = secure
	}
	if err := exchange(conn, r, &answer); err != nil {
		return reply{Failure: failure(err)}
	}
	return answer
}

func clientTLS(r importset.Request, protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: r.Host, NextProtos: protocols} //nolint:gosec // The certificates are made for the test.
}

// protocol returns the protocol that a client gets which knows HTTP/2, too.
func protocol(ctx context.Context, c *container.Container, address string, r importset.Request) string {
	conn, err := dial(ctx, c, address, r)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = conn.Close() }()
	secure := tls.Client(conn, clientTLS(r, "h2", "http/1.1"))
	if err := secure.HandshakeContext(ctx); err != nil {
		return failure(err)
	}
	return secure.ConnectionState().NegotiatedProtocol
}

// dial connects from 127.0.0.1, so that both see the same client.
func dial(ctx context.Context, c *container.Container, address string, r importset.Request) (conn net.Conn, err error) {
	err = c.Inside(func() error {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
		conn, err = dialer.DialContext(ctx, "tcp4", address)
		return err
	})
	if err == nil && r.Proxied {
		_, err = io.WriteString(conn, "PROXY TCP4 203.0.113.7 203.0.113.8 40000 80\r\n")
	}
	return conn, err
}

func exchange(conn net.Conn, r importset.Request, answer *reply) error {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.Method, r.Path, r.Host)
	if r.Header != "" {
		text += r.Header + "\r\n"
	}
	body := ""
	if r.Method == http.MethodPost {
		body = "a=1"
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(conn, text+"\r\n"+body); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer.Status, answer.Headers, answer.Body = response.StatusCode, masked(response.Header), mask(string(read))
	if answer.Body != string(read) {
		answer.Headers.Del("Content-Length")
	}
	return nil
}

// failure returns the kind of an error: its words name ports and addresses.
func failure(err error) string {
	for _, kind := range []string{"refused", "reset", "EOF", "timeout", "tls", "malformed"} {
		if strings.Contains(err.Error(), kind) {
			return kind
		}
	}
	return err.Error()
}

// volatile matches what differs between two runs of one nginx: IDs, times, and ports of clients.
var volatile = regexp.MustCompile(`\b[0-9a-f]{32}\b|\b1[678]\d{8}(\.\d{3})?\b|\b(3[2-9]|4\d|5\d|60)\d{3}\b|\b\d{2}/[A-Z][a-z]{2}/20\d{2}:\S+|\b20\d\d-\d\d-\d\dT[\d:]+\S*|REMOTE_PORT=\d+|\d+ \d+ \d+ \n`)

func mask(text string) string {
	return strings.ReplaceAll(volatile.ReplaceAllString(text, "<…>"), ":8000", "")
}

func masked(h http.Header) http.Header {
	for _, name := range []string{"Date", "Expires"} {
		h.Del(name)
	}
	for name, values := range h {
		for i := range values {
			h[name][i] = mask(values[i])
		}
	}
	return h
}

func same(a, b reply) bool {
	return a.Status == b.Status && a.Body == b.Body && a.Certificate == b.Certificate && a.Protocol == b.Protocol && a.Failure == b.Failure &&
		maps.EqualFunc(a.Headers, b.Headers, slices.Equal[[]string])
}
