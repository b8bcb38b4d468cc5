// Package journal keeps, across restarts of the container, which configurations were being
// loaded when a container ended: the next one must not load them again at once.
//
// The file is on the pod's scratch space, which outlives its containers.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	file = "loads.json"
	// most is how many revisions are kept.
	most = 8
)

// Entry is a revision during whose load a container may end, or has ended.
type Entry struct {
	Revision string `json:"revision"`
	// MemoryShort tells that the container's memory was nearly used up meanwhile.
	MemoryShort bool `json:"memoryShort,omitempty"`
	// Ends counts the containers that have ended.
	Ends int `json:"ends,omitempty"`
}

// content of the file.
type content struct {
	// Loading has begun and has not proven itself; nil: there is no such load.
	Loading *Entry `json:"loading,omitempty"`
	// Ended are the revisions that have ended a container, the latest last.
	Ended []Entry `json:"ended,omitempty"`
}

// Journal is the file.
type Journal struct {
	path string
	content
}

// Open reads what earlier containers have left.
func Open(dir string) (*Journal, error) {
	j := &Journal{path: filepath.Join(dir, file)}
	text, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of loads: %w", err)
	}
	// The file is replaced as a whole, so one that cannot be read was not written by this program.
	if err := json.Unmarshal(text, &j.content); err != nil {
		j.content = content{}
		return j, os.Remove(j.path)
	}
	if j.Loading == nil {
		return j, nil
	}
	last := *j.Loading
	last.Ends++
	j.Loading = nil
	j.drop(last.Revision)
	j.content.Ended = append(j.content.Ended, last)
	j.content.Ended = j.content.Ended[max(0, len(j.content.Ended)-most):]
	return j, j.write()
}

// Ended are the revisions during whose load a container has ended, the latest last.
func (j *Journal) Ended() []Entry { return slices.Clone(j.content.Ended) }

// Begin notes that a load begins.
func (j *Journal) Begin(revision string) error {
	j.Loading = &Entry{Revision: revision}
	for _, e := range j.content.Ended {
		if e.Revision == revision {
			j.Loading.Ends = e.Ends
		}
	}
	return j.write()
}

// MemoryShort notes that the container's memory is nearly used up during the load.
func (j *Journal) MemoryShort() error {
	if j.Loading == nil || j.Loading.MemoryShort {
		return nil
	}
	j.Loading.MemoryShort = true
	return j.write()
}

// End notes that the load is over, and the container has not ended.
func (j *Journal) End() error {
	if j.Loading == nil {
		return nil
	}
	j.Loading = nil
	return j.write()
}

// Forget drops what is known of a revision.
func (j *Journal) Forget(revision string) error {
	if !j.drop(revision) {
		return nil
	}
	return j.write()
}

func (j *Journal) drop(revision string) bool {
	before := len(j.content.Ended)
	j.content.Ended = slices.DeleteFunc(j.content.Ended, func(e Entry) bool { return e.Revision == revision })
	return len(j.content.Ended) < before
}

func (j *Journal) write() error {
	text, err := json.Marshal(j.content)
	if err != nil {
		return err
	}
	next := j.path + ".next"
	if err := os.WriteFile(next, text, 0o640); err != nil {
		return fmt.Errorf("write the journal of loads: %w", err)
	}
	if err := os.Rename(next, j.path); err != nil {
		return fmt.Errorf("write the journal of loads: %w", err)
	}
	return nil
}
