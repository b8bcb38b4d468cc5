package nginx

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	statusTimeout = 2 * time.Second
	maxAnswer     = 4 << 10
	revisionPath  = "/revision"
	servesHeader  = "Nginx-Operator-Serves:"
	statusPath    = "/stub_status"
)

// StatusClient is a client of the status server that every assembled configuration has.
type StatusClient struct {
	// Socket is the path of the unix socket.
	Socket string
	// queries counts the requests to it.
	queries *atomic.Int64
}

// NewStatusClient returns a client for the path of a socket. Everyone who queries the same nginx uses the same client or a
// copy of it, see Connections.Own.
func NewStatusClient(socket string) StatusClient { return StatusClient{socket, new(atomic.Int64)} }

// Served is the configuration that a worker reports to serve.
type Served struct {
	Revision   string
	Generation int64
}

// Served queries a worker which configuration it serves. The kernel chooses the worker.
func (a StatusClient) Served(ctx context.Context) (Served, error) {
	head, _, err := a.get(ctx, revisionPath)
	if err != nil {
		return Served{}, err
	}
	for line := range strings.Lines(head) {
		value, found := strings.CutPrefix(line, servesHeader)
		fields := strings.Fields(value)
		if !found || len(fields) != 2 {
			continue
		}
		if generation, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return Served{Revision: fields[0], Generation: generation}, nil
		}
	}
	return Served{}, fmt.Errorf("nginx answered %.100q", head)
}

// get sends an HTTP/1.0 request, so the connection ends with the response.
func (a StatusClient) get(ctx context.Context, path string) (head, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", a.Socket)
	if err != nil {
		return "", "", fmt.Errorf("query nginx: %w", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	a.queries.Add(1)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: nginx-operator\r\n\r\n", path); err != nil {
		return "", "", fmt.Errorf("query nginx: %w", err)
	}
	reader := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	answer, err := io.ReadAll(reader)
	if err != nil {
		return "", "", fmt.Errorf("query nginx: %w", err)
	}
	head, body, ok := strings.Cut(string(answer), "\r\n\r\n")
	if status := strings.Fields(head); !ok || len(status) < 2 || !strings.HasPrefix(status[1], "20") {
		return "", "", fmt.Errorf("query nginx: it answered %.100q", head)
	}
	return head, body, nil
}
