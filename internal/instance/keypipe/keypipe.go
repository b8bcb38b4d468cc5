// Package keypipe passes private keys to nginx without a file that its workers could read.
//
// The master process and the workers have the same user. So a worker can open every file that the
// master process can open, and a configuration can make a worker serve it. Therefore, the path at
// which nginx is configured to find a key is a named pipe. It is empty until a process opens it, and
// then the other end checks which process that is:
//
//  1. Opening the pipe for writing blocks until a process has opened it for reading.
//  2. A new pipe takes over the name at once, so that no further process can join.
//  3. The key is written if exactly one process has the pipe open, and the instance manager started
//     this process itself. These are the processes that load keys: a test of a configuration and
//     the master process. Workers are started by the master process. All others read nothing. While
//     other processes try to read, the process has to be the only reader for a moment first.
//  4. A process may look up the name before step 2, and open the pipe after step 3. It would wait
//     forever, so the old pipe is answered for a while longer.
//
// In addition, nginx's own modules that serve files only serve regular files.
//
// A process that loads keys also parses other files for the configuration: libxml2 reads every file that a stylesheet of
// xslt_stylesheet names as an entity, and the page could contain it. So a key begins with a character that XML forbids.
package keypipe

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/proc"
)

const (
	// identifyTimeout bounds how long a process may take to become the only reader.
	identifyTimeout = 3 * time.Second
	// otherProcessTimeout is how long a process that must not read waits for its end of file. The
	// master process may be opening the same pipe, and would get nothing either.
	otherProcessTimeout = 50 * time.Millisecond
	pause               = 200 * time.Microsecond
	// suspicion is how long after the last foreign process a reader has to stay the only one for
	// settleTime. Opening the pipe for writing releases all processes that wait to open it at once,
	// but one that is not scheduled yet has no visible descriptor.
	suspicion  = time.Minute
	settleTime = 100 * time.Millisecond
	// lateTimeout bounds the time between the lookup of the name and the opening of the pipe.
	lateTimeout  = 3 * time.Second
	latePause    = 20 * time.Millisecond
	writeTimeout = 5 * time.Second
	// parallelPipes bounds how many pipes of one name are answered at the same time. While a pipe is answered, its
	// successor takes the next process: processes that had to wait would all open the same one, and a process that must
	// not read could keep the others from reading.
	parallelPipes = 4
	mode          = 0o600
)

// Readers identifies the processes that may read keys.
type Readers struct {
	Proc proc.FS
	// Started reports whether this program started the process itself.
	Started func(pid int) bool

	mu     sync.Mutex
	denied Denials
}

// Denials are the pipes that were closed without passing the key to any process. nginx may have had such a pipe open as well, and
// has to read again.
type Denials struct {
	Count int64
	// Last is the path of the last pipe; empty if there was none.
	Last string
}

// Denied returns the denials so far.
func (r *Readers) Denied() Denials {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denied
}

func (r *Readers) deny(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = Denials{Count: r.denied.Count + 1, Last: path}
}

// Pipe is a named pipe through which one file can be read.
type Pipe struct {
	readers *Readers
	path    string
	content func() ([]byte, error)
	stopped atomic.Bool
	// foreign is when a process that may not read was last seen, in nanoseconds since 1970.
	foreign atomic.Int64
}

// Serve replaces the path with a named pipe, and serves content through it until Stop is called.
func (r *Readers) Serve(path string, content func() ([]byte, error)) (*Pipe, error) {
	p := &Pipe{readers: r, path: path, content: content}
	if err := p.renew(); err != nil {
		return nil, err
	}
	go p.run()
	return p, nil
}

// Stop ends the service. The pipe stays at the path.
func (p *Pipe) Stop() {
	p.stopped.Store(true)
	// This releases run, which waits for a reader.
	if fd, err := unix.Open(p.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err == nil {
		_ = unix.Close(fd)
	}
}

// renew moves the name to a new pipe atomically.
func (p *Pipe) renew() error {
	next := filepath.Join(filepath.Dir(p.path), "."+filepath.Base(p.path)+".next")
	_ = os.Remove(next)
	if err := unix.Mkfifo(next, mode); err != nil {
		return fmt.Errorf("create a named pipe: %w", err)
	}
	if err := os.Rename(next, p.path); err != nil {
		return fmt.Errorf("create a named pipe: %w", err)
	}
	return nil
}

func (p *Pipe) run() {
	slots := make(chan struct{}, parallelPipes)
	for !p.stopped.Load() {
		slots <- struct{}{}
		fd, err := p.await()
		if p.stopped.Load() {
			closeIfOpen(fd)
			return
		}
		if renewal := p.renew(); renewal != nil {
			slog.Error("a private key can no longer be passed to nginx", "path", p.path, "error", renewal)
			closeIfOpen(fd)
			return
		}
		if err != nil {
			slog.Warn("cannot pass a private key to nginx", "path", p.path, "error", err)
			<-slots
			continue
		}
		old, err := unix.Open(fdPath(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			slog.Warn("cannot pass a private key to nginx", "path", p.path, "error", err)
		}
		go func() {
			answered := map[int]bool{}
			p.respond(fd, answered)
			<-slots
			p.answerLate(old, answered)
		}()
	}
}

// respond answers the readers of a pipe and closes it.
func (p *Pipe) respond(fd int, answered map[int]bool) {
	if err := p.answer(fd, answered); err != nil {
		slog.Warn("cannot pass a private key to nginx", "path", p.path, "error", err)
	}
	closeIfOpen(fd)
}

// answerLate answers processes that open a pipe after it has lost its name.
func (p *Pipe) answerLate(old int, answered map[int]bool) {
	defer closeIfOpen(old)
	for deadline := time.Now().Add(lateTimeout); old >= 0 && !p.stopped.Load() && time.Now().Before(deadline); {
		// A process that was answered needs a moment to close its end.
		<-time.After(latePause)
		// This fails with ENXIO while no process reads.
		if fd, err := unix.Open(fdPath(old), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			p.respond(fd, answered)
		}
	}
}

// fdPath returns a path that reopens an open file, whatever its name.
func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func closeIfOpen(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// await returns the write end once a process has opened the read end.
func (p *Pipe) await() (int, error) {
	for {
		fd, err := unix.Open(p.path, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, fmt.Errorf("open the named pipe: %w", err)
		}
		if _, kind, err := proc.InodeOf(fd); err != nil || kind&unix.S_IFMT != unix.S_IFIFO {
			_ = unix.Close(fd)
			return -1, errors.New("it is no longer a named pipe: a configuration must not write there")
		}
		return fd, nil
	}
}

// answer writes the content if the only reader may have it and was not answered before.
func (p *Pipe) answer(fd int, answered map[int]bool) error {
	pid := p.identify(fd, answered)
	if pid == 0 {
		if len(answered) == 0 {
			p.readers.deny(p.path)
		}
		return nil
	}
	answered[pid] = true
	content, err := p.content()
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	return write(fd, forbidInXML(content))
}

// forbidInXML returns PEM that no parser of XML accepts, in any encoding, not even as a part of a document. Readers of PEM skip
// all lines before the first block. Other formats are returned unchanged: their readers skip nothing.
func forbidInXML(content []byte) []byte {
	if !bytes.Contains(content, []byte("-----BEGIN ")) {
		return content
	}
	return append([]byte("\x01\n"), content...)
}

// identify waits until the pipe has exactly one reader besides those that were answered. It returns
// the process ID, or 0 if no such process may read.
func (p *Pipe) identify(fd int, answered map[int]bool) int {
	inode, _, err := proc.InodeOf(fd)
	if err != nil {
		return 0
	}
	begin := time.Now()
	alone := begin
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for connected(fd) {
		started, others := p.readers.holders(inode, answered)
		waited := time.Since(begin)
		if others > 0 {
			p.foreign.Store(time.Now().UnixNano())
		}
		if len(started) != 1 || others > 0 {
			alone = time.Now()
		}
		switch {
		case len(started) == 1 && others == 0:
			if time.Since(alone) >= p.soleReaderTime() {
				return started[0]
			}
		case waited > identifyTimeout, len(started) == 0 && others+len(answered) > 0 && waited > otherProcessTimeout:
			return 0
		}
		<-ticker.C
	}
	return 0
}

// soleReaderTime returns how long a process has to be the only reader before it gets the key.
func (p *Pipe) soleReaderTime() time.Duration {
	if time.Since(time.Unix(0, p.foreign.Load())) > suspicion {
		return 0
	}
	return settleTime
}

// holders returns the processes that this program started and that have the pipe open, except those
// that were answered, and the number of other processes that do. A process that this program
// started counts if its descriptors cannot be read.
func (r *Readers) holders(inode proc.Inode, answered map[int]bool) (started []int, others int) {
	holders, hidden := r.Proc.Holders(inode)
	for _, pid := range holders {
		switch {
		case !r.Started(pid):
			others++
		case !answered[pid]:
			started = append(started, pid)
		}
	}
	for _, pid := range hidden {
		if r.Started(pid) && !answered[pid] {
			started = append(started, pid)
		}
	}
	return started, others
}

// connected reports whether a process still has the other end open.
func connected(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(poll, 0)
	return err != nil || poll[0].Revents&unix.POLLERR == 0
}

// write writes the content. It gives up on a reader that does not read.
func write(fd int, content []byte) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	deadline := time.Now().Add(writeTimeout)
	for len(content) > 0 {
		n, err := unix.Write(fd, content)
		switch {
		case errors.Is(err, unix.EPIPE):
			return nil // The reader has read what it needed.
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			if time.Now().After(deadline) {
				return errors.New("the reader has stopped reading")
			}
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(pause.Milliseconds())+1)
		case err != nil:
			return err
		default:
			content = content[n:]
		}
	}
	return nil
}
