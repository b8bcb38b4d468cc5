package archive

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// names holds the sorted names in a directory. There can be hundreds of thousands, so they share
// one buffer instead of a string each.
type names struct {
	// text holds all names, each followed by a NUL.
	text []byte
	// starts holds the offsets of the names in text.
	starts []uint32
}

// batch is the number of names that are read at once.
const batch = 1024

func readNames(root *os.Root, directory string) (*names, error) {
	f, err := root.Open(directory)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	n := &names{}
	for {
		some, err := f.Readdirnames(batch)
		for _, name := range some {
			n.starts = append(n.starts, uint32(len(n.text)))
			n.text = append(append(n.text, name...), 0)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(n.starts, func(a, b uint32) int { return bytes.Compare(n.of(a), n.of(b)) })
	return n, nil
}

func (n *names) of(start uint32) []byte {
	name, _, _ := bytes.Cut(n.text[start:], []byte{0})
	return name
}

func (n *names) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, start := range n.starts {
			if !yield(string(n.of(start))) {
				return
			}
		}
	}
}
