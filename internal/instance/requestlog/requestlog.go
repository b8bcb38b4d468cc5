// Package requestlog measures requests on any build of nginx, without a module. nginx
// sends an access log in a format of ours as syslog datagrams to a unix socket; they are
// read, parsed without allocating, and counted.
//
// A datagram that finds the socket's buffer full is lost: nginx never waits for us.
// Comparing nginx_http_requests_total with the requests of stub_status shows how much.
package requestlog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"example.com/nginx-operator/internal/instance/window"
)

// Tag marks our lines; it is also the name of the log format.
const Tag = "nginx_operator"

const (
	// socketBuffer holds the lines of a burst, in bytes. The kernel may grant less.
	socketBuffer = 4 << 20
	// maxLine is more than a line of our format can be: nginx cuts a syslog message at
	// 4 KiB (NGX_SYSLOG_MAX_STR).
	maxLine = 8 << 10
)

// Log reads what nginx logs.
type Log struct {
	conn    *net.UnixConn
	metrics *Metrics
	recent  *window.Ring
}

// Listen binds the socket, in the place of one that an earlier process has left.
func Listen(path string, metrics *Metrics, recent *window.Ring) (*Log, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen for nginx's log: %w", err)
	}
	if err := conn.SetReadBuffer(socketBuffer); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("set the buffer of %s: %w", path, err)
	}
	return &Log{conn, metrics, recent}, nil
}

// Run counts until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	defer stop()
	var entry Entry
	line := make([]byte, maxLine)
	for {
		n, err := l.conn.Read(line)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("read nginx's log: %w", err)
		}
		l.count(line[:n], &entry)
	}
}

// count counts a line, for which it uses entry. It allocates only for a series that is new.
func (l *Log) count(line []byte, entry *Entry) {
	if err := parse(line, entry); err != nil {
		l.metrics.malformed.Inc()
		return
	}
	l.metrics.observe(entry)
	l.recent.Count(entry.Status, entry.Seconds)
}
