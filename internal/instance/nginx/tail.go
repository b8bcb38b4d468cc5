package nginx

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"example.com/nginx-operator/internal/instance/problems"
)

// Bounds of what is remembered of nginx's error log.
const (
	tailLines = 20
	tailWidth = 1024
)

// Tail passes on lines and remembers the last ones.
type Tail struct {
	// Redact takes out of a line what must not be shown.
	Redact func(line string) string

	mu    sync.Mutex
	lines []string
	// count of all lines that were remembered so far.
	count  int
	alerts chan struct{}
}

// Alerts says that nginx has logged an alert, such as the end of a worker by a signal.
func (t *Tail) Alerts() <-chan struct{} { return t.channel() }

func (t *Tail) channel() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alerts == nil {
		t.alerts = make(chan struct{}, 1)
	}
	return t.alerts
}

// Copy passes on lines until there are no more.
func (t *Tail) Copy(from io.Reader, to io.Writer) {
	reader := bufio.NewReaderSize(from, 4*tailWidth)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			shown := t.Redact(strings.TrimRight(string(line), "\r\n"))
			// Our own stderr is all that could be said anything on.
			_, _ = io.WriteString(to, shown+"\n")
			t.add(shown)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// add remembers a line, unless it only tells what nginx does or is about a request: the few lines of a problem
// must not be pushed out by those, and what a client sends is nobody else's business.
func (t *Tail) add(line string) {
	parsed, ok := problems.ParseLine(line)
	if ok && (!parsed.Severe() || parsed.OfRequest) {
		return
	}
	if parsed.Level == "alert" {
		defer t.alert()
	}
	line = strings.ToValidUTF8(line[:min(len(line), tailWidth)], "")
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, line)
	t.count++
}

// alert is remembered until somebody has looked.
func (t *Tail) alert() {
	select {
	case t.channel() <- struct{}{}:
	default:
	}
}

// Mark is the place after the last line so far.
func (t *Tail) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Since returns the lines after a mark that are remembered.
func (t *Tail) Since(mark int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := min(t.count-mark, len(t.lines))
	return slices.Clone(t.lines[len(t.lines)-fresh:])
}
