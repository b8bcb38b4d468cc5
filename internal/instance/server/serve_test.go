package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestManyConnections: of several times as many connections as may be open, each is answered, and
// the first ones are closed.
func TestManyConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Serve(ctx, address, Handler(sources(t, "r1"))); err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for i := range 4 * limits.Connections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		all = append(all, conn)
		if i%2 == 0 {
			continue // It never sends anything.
		}
		if err := probe(conn); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	for i, conn := range all[:2*limits.Connections] {
		// This is less than the timeouts for idle connections and for headers.
		if err := conn.SetReadDeadline(time.Now().Add(limits.ReadHeader / 2)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still open: %v", i, err)
		}
	}
}

// probe sends a request and expects that the instance is ready.
func probe(conn net.Conn) error {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", instanceapi.PathReady); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return response.Body.Close()
}

// counting counts the calls of Gather.
type counting struct{ times int }

func (c *counting) Gather() ([]*dto.MetricFamily, error) {
	c.times++
	return []*dto.MetricFamily{{}}, nil
}

func TestScrapesAreShared(t *testing.T) {
	source := &counting{}
	now := time.Now()
	g := &gatherer{Gatherer: source, now: func() time.Time { return now }}
	for range 100 {
		if _, err := g.Gather(); err != nil {
			t.Fatal(err)
		}
	}
	if source.times != 1 {
		t.Errorf("it was gathered %d times", source.times)
	}
	now = now.Add(scrapeFreshness)
	if families, err := g.Gather(); err != nil || len(families) != 1 || source.times != 2 {
		t.Errorf("later it was gathered %d times (%v)", source.times, err)
	}
	failing := &gatherer{Gatherer: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("no") }), now: time.Now}
	if _, err := failing.Gather(); err == nil {
		t.Error("an error was swallowed")
	}
}
