package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

const (
	// maxIdle bounds the time without a change in a recording.
	maxIdle = 2 * time.Second
	// settled is how long the output has to stop before a frame is taken, so that none is half drawn.
	settled = 40 * time.Millisecond
	// keystroke is the time that a typed character takes, pauseAfterTyping that before the command starts, and reading that
	// before the next one is typed.
	keystroke        = 35 * time.Millisecond
	pauseAfterTyping = 10 * keystroke
	reading          = 2500 * time.Millisecond
	// patience bounds the wait for a command.
	patience = 5 * time.Minute

	prompt   = "\x1b[1;32m$\x1b[0m "
	clearAll = "\x1b[H\x1b[2J"
	// noWrap cuts long lines off at the edge of the terminal.
	noWrap = "\x1b[?7l"
)

// Recorder runs commands in a terminal of a fixed size, and keeps what it shows.
type Recorder struct {
	Frames        []Frame
	columns, rows int
	screen        *vt.Emulator
	now           time.Duration
	folder        string
	environment   []string
	// used is set while the terminal shows something.
	used bool
}

// NewRecorder returns a recorder of a terminal, whose commands run in a folder and have an environment.
func NewRecorder(columns, rows int, folder string, environment []string) *Recorder {
	r := &Recorder{columns: columns, rows: rows, screen: vt.NewEmulator(columns, rows), folder: folder, environment: append(environment, "TERM=xterm-256color")}
	// The emulator answers what programs ask of their terminal, and waits until the answer is read.
	go func() { _, _ = io.Copy(io.Discard, r.screen) }() // it ends with the process
	return r
}

// Size returns the columns and rows of the terminal.
func (r *Recorder) Size() (columns, rows int) { return r.columns, r.rows }

// show lets the terminal show a text, as programs write it.
func (r *Recorder) show(text string) error {
	_, err := r.screen.WriteString(text)
	r.capture()
	return err
}

// capture keeps a frame if the screen has changed.
func (r *Recorder) capture() {
	f := Frame{At: r.now, Lines: lines(r.screen, r.columns, r.rows)}
	n := len(r.Frames)
	switch {
	case n > 0 && reflect.DeepEqual(r.Frames[n-1].Lines, f.Lines):
	case n > 0 && r.Frames[n-1].At == f.At:
		r.Frames[n-1] = f
	default:
		r.Frames = append(r.Frames, f)
	}
}

// Clear clears the terminal.
func (r *Recorder) Clear() error {
	r.used = false
	return r.show(clearAll)
}

// CutLines cuts lines off that are longer than those of the terminal.
func (r *Recorder) CutLines() error { return r.show(noWrap) }

// Type shows a command at the prompt as a user types it.
func (r *Recorder) Type(command string) error {
	start := prompt
	if r.used {
		start = "\r\n" + prompt
	}
	r.used = true
	if err := r.show(start); err != nil {
		return err
	}
	const stroke = 4 // characters of a frame
	for runes := []rune(command); len(runes) > 0; {
		n := min(stroke, len(runes))
		r.now += time.Duration(n) * keystroke
		if err := r.show(string(runes[:n])); err != nil {
			return err
		}
		runes = runes[n:]
	}
	r.now += pauseAfterTyping
	return r.show("\r\n")
}

// Run types a command, and runs it to its end. Its exit code must be the expected one.
func (r *Recorder) Run(command string, code int) error {
	return r.run(command, code, nil)
}

// RunUntil types a command that has no end, and interrupts it when the terminal shows what is waited for. shown is called
// with each frame.
func (r *Recorder) RunUntil(command string, shown func(Frame) (bool, error)) error {
	return r.run(command, -1, shown)
}

func (r *Recorder) run(command string, code int, shown func(Frame) (bool, error)) error {
	if err := r.Type(command); err != nil {
		return err
	}
	process := exec.Command("sh", "-c", command)
	process.Env, process.Dir = r.environment, r.folder
	terminal, err := pty.StartWithSize(process, &pty.Winsize{Rows: uint16(r.rows), Cols: uint16(r.columns)})
	if err != nil {
		return err
	}
	err = errors.Join(r.follow(terminal, process, shown), terminal.Close())
	ended := process.Wait()
	if exit := process.ProcessState.ExitCode(); err == nil && code >= 0 && exit != code {
		return fmt.Errorf("%s: exit code %d, want %d: %w", command, exit, code, errors.Join(ended, errors.New(r.Frames[len(r.Frames)-1].Text())))
	}
	r.now += reading
	return err
}

// follow shows the output of a process until it ends, or until the terminal shows what is waited for.
func (r *Recorder) follow(terminal *os.File, process *exec.Cmd, shown func(Frame) (bool, error)) error {
	output := read(terminal)
	stop := time.NewTimer(patience)
	defer stop.Stop()
	last := time.Now()
	for {
		select {
		case text, more := <-output:
			r.now += min(time.Since(last), maxIdle)
			last = time.Now()
			if !more {
				return nil
			}
			if err := r.settle(text, output); err != nil {
				return err
			}
			if done, err := r.seen(shown); done || err != nil {
				return errors.Join(err, r.interrupt(process, output))
			}
		case <-stop.C:
			err := fmt.Errorf("%v: not within %s; the terminal shows:\n%s", process.Args, patience, r.Frames[len(r.Frames)-1].Text())
			return errors.Join(err, r.interrupt(process, output))
		}
	}
}

// read returns the output of a terminal until that is closed.
func read(terminal *os.File) <-chan []byte {
	output := make(chan []byte)
	go func() {
		defer close(output)
		for {
			buffer := make([]byte, 32<<10)
			n, err := terminal.Read(buffer)
			if n > 0 {
				output <- buffer[:n]
			}
			if err != nil {
				return // a terminal ends with an error
			}
		}
	}()
	return output
}

// settle shows output with what follows at once, and keeps the frame.
func (r *Recorder) settle(text []byte, output <-chan []byte) error {
	for more := true; more; {
		if _, err := r.screen.Write(text); err != nil {
			return err
		}
		select {
		case text, more = <-output:
		case <-time.After(settled):
			more = false
		}
	}
	r.capture()
	return nil
}

func (r *Recorder) seen(shown func(Frame) (bool, error)) (bool, error) {
	if shown == nil {
		return false, nil
	}
	return shown(r.Frames[len(r.Frames)-1])
}

// interrupt does what Ctrl+C does.
func (r *Recorder) interrupt(process *exec.Cmd, output <-chan []byte) error {
	if err := syscall.Kill(-process.Process.Pid, syscall.SIGINT); err != nil {
		return err
	}
	for range output { // what is written at the end does not belong to the recording
	}
	r.now += reading
	return nil
}
