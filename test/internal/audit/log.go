package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Log is an audit log of JSON lines. Path is the file that the API server writes to. Rotated files
// are in the same directory.
type Log struct {
	Path string
}

// Filter selects requests.
type Filter struct {
	// User sent the request.
	User string
	// Since and Until bound the time at which the API server received the request. A zero time is
	// no bound.
	Since, Until time.Time
}

func (f Filter) matches(e Event) bool {
	return e.User.Username == f.User &&
		(f.Since.IsZero() || !e.Received.Before(f.Since)) &&
		(f.Until.IsZero() || e.Received.Before(f.Until))
}

// receivedKey precedes the time at which a request was received. It cannot match inside a value,
// where the quotes would be escaped.
var receivedKey = []byte(`"requestReceivedTimestamp":"`)

// mayMatch reports, without decoding a line, whether its request may match. Decoding is slow, and
// most lines of a long log are about other users or earlier times.
func (f Filter) mayMatch(line []byte) bool {
	if !bytes.Contains(line, []byte(f.User)) {
		return false
	}
	_, after, found := bytes.Cut(line, receivedKey)
	text, _, ended := bytes.Cut(after, []byte(`"`))
	received, err := time.Parse(time.RFC3339Nano, string(text))
	if !found || !ended || err != nil {
		return true
	}
	return (f.Since.IsZero() || !received.Before(f.Since)) && (f.Until.IsZero() || received.Before(f.Until))
}

// Requests returns the matching requests, each once, in the order of the log.
func (l Log) Requests(f Filter) ([]Event, error) {
	files, err := l.open(f.Since)
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	var events []Event
	seen := map[string]bool{}
	for _, file := range files {
		err := file.scan(func(line []byte) error {
			if !f.mayMatch(line) {
				return nil
			}
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				return err
			}
			if f.matches(e) && !seen[e.AuditID] {
				// A request may be logged at several stages.
				seen[e.AuditID] = true
				events = append(events, e)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the audit log %s: %w", file.path, err)
		}
	}
	return events, nil
}

// Start returns the time at which the oldest request in the log was received.
func (l Log) Start() (time.Time, error) {
	files, err := l.open(time.Time{})
	if err != nil {
		return time.Time{}, err
	}
	defer closeAll(files)
	first, found := Event{}, errors.New("found")
	err = files[0].scan(func(line []byte) error {
		if err := json.Unmarshal(line, &first); err != nil {
			return err
		}
		return found
	})
	switch {
	case errors.Is(err, found):
		return first.Received, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("read the audit log %s: %w", files[0].path, err)
	}
	return time.Time{}, fmt.Errorf("the audit log %s is empty", files[0].path)
}

// open opens the files that hold requests since a time, oldest first. It opens the current file
// before it lists the others: if the file is rotated in between, it is found under both names and
// nothing is lost.
func (l Log) open(since time.Time) ([]logFile, error) {
	current, err := openFile(l.Path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	var files []logFile
	extension := filepath.Ext(l.Path)
	// The name of a rotated file ends in its time, so the names sort by age.
	paths, err := filepath.Glob(strings.TrimSuffix(l.Path, extension) + "-*" + extension + "*")
	if err != nil {
		return nil, errors.Join(err, current.Close())
	}
	slices.Sort(paths)
	for _, path := range paths {
		file, err := openFile(path)
		if errors.Is(err, os.ErrNotExist) {
			// This was the oldest file, and it has been removed since the listing.
			continue
		}
		if err != nil {
			closeAll(append(files, current))
			return nil, fmt.Errorf("open the audit log: %w", err)
		}
		if os.SameFile(file.info, current.info) || file.info.ModTime().Before(since) {
			closeAll([]logFile{file})
			continue
		}
		files = append(files, file)
	}
	return append(files, current), nil
}

type logFile struct {
	*os.File
	path string
	info os.FileInfo
}

func openFile(path string) (logFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return logFile{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return logFile{}, errors.Join(err, file.Close())
	}
	return logFile{file, path, info}, nil
}

// closeAll closes files that were only read, so an error on close loses no data.
func closeAll(files []logFile) {
	for _, file := range files {
		_ = file.Close()
	}
}

// scan calls visit for each line. A line that the API server is still writing has no end yet and is
// left for the next scan. An error of visit ends the scan.
func (f logFile) scan(visit func(line []byte) error) error {
	var in io.Reader = f.File
	if strings.HasSuffix(f.path, ".gz") {
		unzipped, err := gzip.NewReader(f.File)
		if err != nil {
			return err
		}
		in = unzipped
	}
	reader := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(line); err != nil {
			return err
		}
	}
}
