// Package keypipe hands private keys to nginx without a file that its workers could read.
//
// The master process and the workers have the same user, so that whatever file the master
// can open is open to a worker, too, and to everything that a configuration lets a worker
// serve. Where nginx is configured to find a key there is a named pipe instead. Nothing is
// in it until a process opens it, and then the other end looks at who that is:
//
//  1. Opening the pipe for writing blocks until a process has opened it for reading.
//  2. Another pipe takes the name at once, so that no further process can join.
//  3. The key is written if exactly one process has the pipe open, and this one was started
//     by the instance manager itself: a test of a configuration or the master process, which
//     are those that load keys. Workers are started by the master. All others read nothing.
//  4. A process may have looked the name up before step 2, and open the pipe after step 3. It would
//     wait for ever, so the old pipe is answered for a while longer.
//
// nginx's own modules that serve files refuse what is no regular file in the first place.
package keypipe

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/proc"
)

const (
	// identifyTimeout bounds how long a reader may take to be the only one.
	identifyTimeout = 3 * time.Second
	// strangerTimeout is how long a process that gets nothing waits for its end of file: the
	// master may be opening the same pipe, and would get nothing either.
	strangerTimeout = 50 * time.Millisecond
	pause           = 200 * time.Microsecond
	// lateTimeout is how long a process may take between looking up the name and opening the pipe.
	lateTimeout  = 3 * time.Second
	latePause    = 20 * time.Millisecond
	writeTimeout = 5 * time.Second
	mode         = 0o600
)

// Readers tells which processes may read keys.
type Readers struct {
	Proc proc.FS
	// Started tells whether this program started the process itself.
	Started func(pid int) bool
}

// Pipe is a named pipe through which one file can be read.
type Pipe struct {
	readers Readers
	path    string
	content func() ([]byte, error)
	stopped atomic.Bool
}

// Serve makes a named pipe, in place of what the path is now, and serves content by it
// until Stop is called.
func (r Readers) Serve(path string, content func() ([]byte, error)) (*Pipe, error) {
	p := &Pipe{readers: r, path: path, content: content}
	if err := p.renew(); err != nil {
		return nil, err
	}
	go p.run()
	return p, nil
}

// Stop ends the service. What is at the path stays.
func (p *Pipe) Stop() {
	p.stopped.Store(true)
	// Releases run, which waits for a reader.
	if fd, err := unix.Open(p.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err == nil {
		_ = unix.Close(fd)
	}
}

// renew gives the name to a new pipe, in one step.
func (p *Pipe) renew() error {
	next := filepath.Join(filepath.Dir(p.path), "."+filepath.Base(p.path)+".next")
	_ = os.Remove(next)
	if err := unix.Mkfifo(next, mode); err != nil {
		return fmt.Errorf("make a named pipe: %w", err)
	}
	if err := os.Rename(next, p.path); err != nil {
		return fmt.Errorf("make a named pipe: %w", err)
	}
	return nil
}

func (p *Pipe) run() {
	for !p.stopped.Load() {
		fd, err := p.await()
		if p.stopped.Load() {
			closeIfOpen(fd)
			return
		}
		if renewal := p.renew(); renewal != nil {
			slog.Error("a private key cannot be handed to nginx any more", "path", p.path, "error", renewal)
			closeIfOpen(fd)
			return
		}
		if err != nil {
			slog.Warn("hand a private key to nginx", "path", p.path, "error", err)
			continue
		}
		old, err := unix.Open(descriptor(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			slog.Warn("hand a private key to nginx", "path", p.path, "error", err)
		}
		answered := map[int]bool{}
		p.respond(fd, answered)
		go p.answerLate(old, answered)
	}
}

// respond answers a reader of a pipe that has not been answered yet, and closes the pipe.
func (p *Pipe) respond(fd int, answered map[int]bool) {
	if err := p.answer(fd, answered); err != nil {
		slog.Warn("hand a private key to nginx", "path", p.path, "error", err)
	}
	closeIfOpen(fd)
}

// answerLate answers processes that open a pipe which has lost its name.
func (p *Pipe) answerLate(old int, answered map[int]bool) {
	defer closeIfOpen(old)
	for deadline := time.Now().Add(lateTimeout); old >= 0 && !p.stopped.Load() && time.Now().Before(deadline); {
		// One that was answered needs a moment to close its end.
		<-time.After(latePause)
		// It fails with ENXIO while nobody reads.
		if fd, err := unix.Open(descriptor(old), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			p.respond(fd, answered)
		}
	}
}

// descriptor is a path by which an open file can be opened once more, whatever its name.
func descriptor(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func closeIfOpen(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// await returns the end to write to when a process has opened the other one.
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
			return -1, errors.New("it is no named pipe any more: a configuration must not write there")
		}
		return fd, nil
	}
}

// answer writes the content if the only reader is one that may have it, and was not answered before.
func (p *Pipe) answer(fd int, answered map[int]bool) error {
	pid := p.identify(fd, answered)
	if pid == 0 {
		return nil
	}
	answered[pid] = true
	content, err := p.content()
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	return write(fd, content)
}

// identify waits until the pipe has one reader beside those that were answered. It returns its process id, if
// that may read; otherwise 0.
func (p *Pipe) identify(fd int, answered map[int]bool) int {
	inode, _, err := proc.InodeOf(fd)
	if err != nil {
		return 0
	}
	begin := time.Now()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for connected(fd) {
		started, others := p.readers.holders(inode, answered)
		waited := time.Since(begin)
		switch {
		case len(started) == 1 && others == 0:
			return started[0]
		case waited > identifyTimeout, len(started) == 0 && others+len(answered) > 0 && waited > strangerTimeout:
			return 0
		}
		<-ticker.C
	}
	return 0
}

// holders finds the processes that have a pipe open: those that this program started,
// where descriptors that cannot be looked at may be of the pipe, without those that were answered; and how
// many others there are.
func (r Readers) holders(inode proc.Inode, answered map[int]bool) (started []int, others int) {
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

// connected tells whether any process still has the other end.
func connected(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(poll, 0)
	return err != nil || poll[0].Revents&unix.POLLERR == 0
}

// write does not wait for a reader that does not read.
func write(fd int, content []byte) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	deadline := time.Now().Add(writeTimeout)
	for len(content) > 0 {
		n, err := unix.Write(fd, content)
		switch {
		case errors.Is(err, unix.EPIPE):
			return nil // It has read what it wanted.
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			if time.Now().After(deadline) {
				return errors.New("the reader does not read")
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
