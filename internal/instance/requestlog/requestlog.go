// Package requestlog measures requests with any build of nginx, without a module. nginx writes an
// access log in a special format, through a buffer, to a file in memory. The lines are read, parsed
// without allocation and counted, and their memory is freed by punching a hole into the file
// (fallocate(2)).
//
// nginx never waits for the reader. If the reader stops, the file grows to the limit of its file
// system; then nginx drops lines and continues to serve. The difference between
// nginx_http_requests_total and the requests of stub_status is the number of dropped lines.
package requestlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/window"
)

const (
	// chunk is the number of bytes that are read at a time: two of nginx's buffers. A longer line
	// cannot be a valid entry.
	chunk = 128 << 10
	// The file is read at these intervals, and more often while much is written, because unread
	// lines take memory.
	idlePause = time.Second
	pause     = 250 * time.Millisecond
	busyPause = 25 * time.Millisecond
	busyBytes = 256 << 10
	// emptyAt is the size, in bytes, at which the file is emptied if holes cannot be punched.
	emptyAt = 1 << 20
)

// Log reads nginx's request log.
type Log struct {
	file    *os.File
	metrics *Metrics
	recent  *window.Ring

	// mu guards the fields below: CatchUp may be called concurrently.
	mu     sync.Mutex
	buffer []byte
	// offset is the end of what has been read, and punched is the end of what has been freed.
	offset, punched int64
	// skipping is set within a line that is too long.
	skipping bool
	// whole is set if holes cannot be punched.
	whole bool
}

// Open creates the file, or empties the one that an earlier process left.
func Open(path string, metrics *Metrics, recent *window.Ring) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open nginx's log: %w", err)
	}
	return &Log{file: file, metrics: metrics, recent: recent, buffer: make([]byte, chunk)}, nil
}

// Run counts requests until ctx is done.
func (l *Log) Run(ctx context.Context) error {
	defer func() { _ = l.file.Close() }()
	for {
		n, err := l.read()
		if err != nil {
			return fmt.Errorf("read nginx's log: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pauseAfter(n)):
		}
	}
}

// pauseAfter returns the pause after a read of n bytes.
func pauseAfter(n int64) time.Duration {
	switch {
	case n == 0:
		return idlePause
	case n < busyBytes:
		return pause
	default:
		return busyPause
	}
}

// CatchUp counts what nginx has written up to now.
func (l *Log) CatchUp() error {
	if _, err := l.read(); err != nil {
		return fmt.Errorf("read nginx's log: %w", err)
	}
	return nil
}

// read counts what was written since the last read, and returns the number of bytes.
func (l *Log) read() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var entry Entry
	start := l.offset
	for {
		n, err := l.file.ReadAt(l.buffer, l.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		used := l.lines(l.buffer[:n], &entry)
		l.offset += int64(used)
		if used == 0 || n < len(l.buffer) {
			break
		}
		// Free the memory of each chunk before the next one is read.
		if err := l.punchHole(); err != nil {
			return 0, err
		}
	}
	return l.offset - start, l.punchHole()
}

// lines counts the lines in text, and returns the number of bytes that they take. The rest is the
// beginning of a line.
func (l *Log) lines(text []byte, entry *Entry) int {
	used := 0
	for {
		line, _, ended := bytes.Cut(text[used:], []byte{'\n'})
		if !ended {
			break
		}
		used += len(line) + 1
		if l.skipping {
			l.skipping = false
			continue
		}
		l.count(line, entry)
	}
	if used == 0 && len(text) == len(l.buffer) {
		if !l.skipping {
			l.metrics.malformed.Inc()
		}
		l.skipping = true
		return len(text)
	}
	return used
}

// count counts a line, and uses entry to parse it. It allocates only for a new series.
func (l *Log) count(line []byte, entry *Entry) {
	if err := l.metrics.parse(line, entry); err != nil {
		l.metrics.malformed.Inc()
		return
	}
	if !l.metrics.observe(entry) {
		return
	}
	l.recent.Count(entry.Revision, window.Answer{Status: entry.Status, Seconds: entry.Seconds, Inner: entry.Inner})
}

// punchHole frees the memory of what has been read. The size of the file stays, because nginx appends
// to it.
func (l *Log) punchHole() error {
	if l.whole {
		return l.empty()
	}
	// Only whole pages are freed.
	from := l.punched &^ int64(os.Getpagesize()-1)
	if l.offset == l.punched {
		return nil
	}
	err := unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, l.offset-from)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		slog.Warn("the file system of the request log cannot punch holes, so the file is truncated from time to time, which can lose lines", "error", err)
		l.whole = true
		return l.empty()
	case err != nil:
		return fmt.Errorf("punch a hole: %w", err)
	}
	l.punched = l.offset
	return nil
}

// empty empties the file if it has been read to its end.
func (l *Log) empty() error {
	info, err := l.file.Stat()
	if err != nil || info.Size() != l.offset || info.Size() < emptyAt {
		return err
	}
	l.offset = 0
	return l.file.Truncate(0)
}
