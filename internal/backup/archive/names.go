package archive

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// names are those in a directory, sorted. There can be hundreds of thousands, so they are
// kept in one piece, without a string for each.
type names struct {
	text  []byte
	spans []span
}

type span struct{ from, to uint32 }

// most names that are read at once.
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
			n.spans = append(n.spans, span{uint32(len(n.text)), uint32(len(n.text) + len(name))})
			n.text = append(n.text, name...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(n.spans, func(a, b span) int { return bytes.Compare(n.of(a), n.of(b)) })
	return n, nil
}

func (n *names) of(s span) []byte { return n.text[s.from:s.to] }

func (n *names) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range n.spans {
			if !yield(string(n.of(s))) {
				return
			}
		}
	}
}
