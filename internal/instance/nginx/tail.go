package nginx

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

// Bounds of what is remembered of nginx's error log.
const (
	tailLines = 20
	tailWidth = 1024
)

// Tail passes on lines and remembers the last ones.
type Tail struct {
	mu    sync.Mutex
	lines []string
	// count of all lines so far.
	count int
}

// Copy passes on lines until there are no more.
func (t *Tail) Copy(from io.Reader, to io.Writer) {
	reader := bufio.NewReaderSize(from, 4*tailWidth)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			// Our own stderr is all that could be said anything on.
			_, _ = to.Write(line)
			t.add(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (t *Tail) add(line []byte) {
	line = bytes.ToValidUTF8(bytes.TrimRight(line[:min(len(line), tailWidth)], "\r\n"), nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, string(line))
	t.count++
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
