// Package journal records, across restarts of the container, which configurations were being loaded
// when a container ended, so that the next container does not load them again at once.
//
// The file is in the pod's scratch space, which outlives its containers.
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
	// most bounds the number of revisions that are kept.
	most = 8
)

// Entry is a revision whose load may end, or has ended, a container.
type Entry struct {
	Revision string `json:"revision"`
	// MemoryShort reports whether the container's memory was nearly used up during the load.
	MemoryShort bool `json:"memoryShort,omitempty"`
	// Ends is the number of containers that have ended.
	Ends int `json:"ends,omitempty"`
}

// content is the content of the file.
type content struct {
	// Loading is the load that has begun and may still fail; nil: there is none.
	Loading *Entry `json:"loading,omitempty"`
	// Ended are the revisions that have ended a container, the latest last.
	Ended []Entry `json:"ended,omitempty"`
}

// Journal is the record of loads in a file.
type Journal struct {
	path string
	content
}

// Open reads the record of earlier containers.
func Open(dir string) (*Journal, error) {
	j := &Journal{path: filepath.Join(dir, file)}
	text, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of loads: %w", err)
	}
	// The file is replaced atomically, so this program did not write one that cannot be parsed.
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
	j.Ended = append(j.Ended, last)
	j.Ended = j.Ended[max(0, len(j.Ended)-most):]
	return j, j.write()
}

// CrashedLoads returns the revisions during whose load a container has ended, the latest last.
func (j *Journal) CrashedLoads() []Entry { return slices.Clone(j.Ended) }

// Begin records that a load begins.
func (j *Journal) Begin(revision string) error {
	j.Loading = &Entry{Revision: revision}
	for _, e := range j.Ended {
		if e.Revision == revision {
			j.Loading.Ends = e.Ends
		}
	}
	return j.write()
}

// MemoryShort records that the container's memory is nearly used up during the load.
func (j *Journal) MemoryShort() error {
	if j.Loading == nil || j.Loading.MemoryShort {
		return nil
	}
	j.Loading.MemoryShort = true
	return j.write()
}

// End records that the load has ended and the container has not.
func (j *Journal) End() error {
	if j.Loading == nil {
		return nil
	}
	j.Loading = nil
	return j.write()
}

// Forget drops the record of a revision.
func (j *Journal) Forget(revision string) error {
	if !j.drop(revision) {
		return nil
	}
	return j.write()
}

func (j *Journal) drop(revision string) bool {
	before := len(j.Ended)
	j.Ended = slices.DeleteFunc(j.Ended, func(e Entry) bool { return e.Revision == revision })
	return len(j.Ended) < before
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
