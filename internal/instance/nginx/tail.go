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

// These bound how much of nginx's error log is kept.
const (
	tailLines = 20
	tailWidth = 1024
)

// Tail copies lines and keeps the last ones.
type Tail struct {
	// Redact removes from a copied line what must not be shown. The kept lines are as nginx wrote them, because decisions depend
	// on their text.
	Redact func(line string) string

	mu    sync.Mutex
	lines []string
	// count is the number of lines that were ever kept.
	count  int
	alerts chan struct{}
}

// Alerts receives a value when nginx has logged an alert, such as the end of a worker by a signal.
func (t *Tail) Alerts() <-chan struct{} { return t.alertChannel() }

func (t *Tail) alertChannel() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alerts == nil {
		t.alerts = make(chan struct{}, 1)
	}
	return t.alerts
}

// Copy copies lines until the end of the input.
func (t *Tail) Copy(from io.Reader, to io.Writer) {
	reader := bufio.NewReaderSize(from, 4*tailWidth)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			text := strings.TrimRight(string(line), "\r\n")
			// A failure to write to stderr could only be reported on stderr.
			_, _ = io.WriteString(to, t.Redact(text)+"\n")
			t.add(text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// add keeps a line, unless it is informational or about a request. Such lines would push out the
// few lines of a problem, and what a client sends must not be shown to others.
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

// alert signals an alert. The signal stays pending until it is received.
func (t *Tail) alert() {
	select {
	case t.alertChannel() <- struct{}{}:
	default:
	}
}

// Mark returns the position after the last line so far.
func (t *Tail) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Since returns the lines after a mark that are still kept. They have to be redacted before they are shown.
func (t *Tail) Since(mark int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := min(t.count-mark, len(t.lines))
	return slices.Clone(t.lines[len(t.lines)-fresh:])
}
