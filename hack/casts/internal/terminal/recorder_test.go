package terminal

import (
	"os"
	"strings"
	"testing"
	"time"
)

func newTestRecorder(t *testing.T) *Recorder {
	t.Helper()
	return NewRecorder(40, 8, t.TempDir(), os.Environ())
}

func TestRun(t *testing.T) {
	r := newTestRecorder(t)
	if err := r.Run(`printf '\033[31mred\033[0m\n'; printf 'a\nb'; exit 3`, 3); err != nil {
		t.Fatal(err)
	}
	last := r.Frames[len(r.Frames)-1]
	if !strings.Contains(last.Text(), "red\na\nb\n") {
		t.Errorf("the terminal shows:\n%s", last.Text())
	}
	if first := r.Frames[0].Text(); !strings.HasPrefix(first, "$") {
		t.Errorf("the first frame shows no prompt:\n%s", first)
	}
	found := false
	for _, line := range last.Lines {
		found = found || len(line) == 1 && line[0].Text == "red" && line[0].Style.Color == 1
	}
	if !found {
		t.Errorf("no line is red: %+v", last.Lines)
	}
	for i := 1; i < len(r.Frames); i++ {
		if r.Frames[i].At <= r.Frames[i-1].At {
			t.Errorf("frame %d is not after the one before", i)
		}
	}
}

func TestRunUnexpectedExitCode(t *testing.T) {
	err := newTestRecorder(t).Run("exit 4", 0)
	if err == nil || !strings.Contains(err.Error(), "exit code 4, want 0") {
		t.Errorf("error %v", err)
	}
}

// TestRunUntil: a command without an end is interrupted when the terminal shows what is waited for, and idle time is cut.
func TestRunUntil(t *testing.T) {
	r := newTestRecorder(t)
	err := r.RunUntil("while :; do echo tick; sleep 0.1; done", func(f Frame) (bool, error) { return strings.Count(f.Text(), "tick\n") >= 3, nil })
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Frames[len(r.Frames)-1].Text(); strings.Contains(text, "^C") {
		t.Errorf("the terminal shows the interrupt:\n%s", text)
	}
}

func TestIdleTimeIsCut(t *testing.T) {
	r := newTestRecorder(t)
	if err := r.Run("sleep 3; echo end", 0); err != nil {
		t.Fatal(err)
	}
	n := len(r.Frames)
	if idle := r.Frames[n-1].At - r.Frames[n-2].At; idle > maxIdle+pauseAfterTyping+time.Second/10 {
		t.Errorf("the recording is idle for %s", idle)
	}
}

// TestCutLines: a long line takes one line of the terminal, and blanks between columns do not count as text.
func TestCutLines(t *testing.T) {
	r := newTestRecorder(t)
	if err := r.CutLines(); err != nil {
		t.Fatal(err)
	}
	if err := r.Run("printf 'a     b%0100d\\n' 0", 0); err != nil {
		t.Fatal(err)
	}
	last := r.Frames[len(r.Frames)-1]
	if lines := last.Lines; len(lines[1]) != 0 && len(lines[2]) != 0 && len(lines[3]) != 0 {
		t.Errorf("the line is wrapped:\n%s", last.Text())
	}
	var second Line
	for _, line := range last.Lines {
		if len(line) == 2 && line[0].Text == "a" {
			second = line
		}
	}
	if second == nil || second[1].Column != 6 {
		t.Errorf("lines %+v", last.Lines)
	}
}
