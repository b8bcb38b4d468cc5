// Package requestlog measures requests on any build of nginx, without a module. nginx
// writes an access log in a format of ours to a file in memory, through a buffer; the lines
// are read, parsed without allocating, counted, and their memory is given back by punching a
// hole into the file (fallocate(2)).
//
// nginx never waits for the reader. If the reader stands still, the file grows to the limit
// of its file system; then nginx drops lines and goes on serving. Comparing
// nginx_http_requests_total with the requests of stub_status shows how many.
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
	// chunk is how much is read at a time, in bytes: two of nginx's buffers. A line that is
	// longer is not one of ours.
	chunk = 128 << 10
	// The file is read this often, and more often while much is written: what is not read
	// takes memory.
	idlePause = time.Second
	pause     = 250 * time.Millisecond
	busyPause = 25 * time.Millisecond
	busyBytes = 256 << 10
	// emptyAt is the size, in bytes, at which a file is emptied where holes cannot be punched.
	emptyAt = 1 << 20
)

// Log reads what nginx logs.
type Log struct {
	file    *os.File
	metrics *Metrics
	recent  *window.Ring

	// mu is for what follows: CatchUp may be called from everywhere.
	mu     sync.Mutex
	buffer []byte
	// offset is up to where the file has been read, punched up to where its memory has been
	// given back.
	offset, punched int64
	// skipping is set inside of a line that is too long.
	skipping bool
	// whole tells that holes cannot be punched.
	whole bool
}

// Open creates the file, or empties the one that an earlier process has left.
func Open(path string, metrics *Metrics, recent *window.Ring) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open nginx's log: %w", err)
	}
	return &Log{file: file, metrics: metrics, recent: recent, buffer: make([]byte, chunk)}, nil
}

// Run counts until ctx ends.
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

// pauseAfter is how long to wait after so many bytes were read.
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

// CatchUp counts what nginx has written until now.
func (l *Log) CatchUp() error {
	if _, err := l.read(); err != nil {
		return fmt.Errorf("read nginx's log: %w", err)
	}
	return nil
}

// read counts what was written since the last time, and returns how many bytes that was.
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
		// What follows takes no more memory than this while it is read.
		if err := l.discard(); err != nil {
			return 0, err
		}
	}
	return l.offset - start, l.discard()
}

// lines counts the lines in text, and returns how many bytes they take. The rest is the
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

// count counts a line, for which it uses entry. It allocates only for a series that is new.
func (l *Log) count(line []byte, entry *Entry) {
	if err := parse(line, entry); err != nil {
		l.metrics.malformed.Inc()
		return
	}
	l.metrics.observe(entry)
	l.recent.Count(entry.Revision, entry.Status, entry.Seconds)
}

// discard gives back the memory of what has been read. The size of the file stays, as nginx
// appends to it.
func (l *Log) discard() error {
	if l.whole {
		return l.empty()
	}
	// A page is freed only as a whole.
	from := l.punched &^ int64(os.Getpagesize()-1)
	if l.offset == l.punched {
		return nil
	}
	err := unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, l.offset-from)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		slog.Warn("the file system of the request log cannot punch holes, so the file is emptied now and then, which can lose lines", "error", err)
		l.whole = true
		return l.empty()
	case err != nil:
		return fmt.Errorf("punch a hole: %w", err)
	}
	l.punched = l.offset
	return nil
}

// empty empties a file that has been read to its end.
func (l *Log) empty() error {
	info, err := l.file.Stat()
	if err != nil || info.Size() != l.offset || info.Size() < emptyAt {
		return err
	}
	l.offset = 0
	return l.file.Truncate(0)
}
