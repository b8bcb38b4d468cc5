package problems

import (
	"index/suffixarray"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	// leastSecret is the length in bytes from which a value is hidden. A shorter one is in most messages by chance.
	leastSecret = 4
	// leastPart is the length in bytes from which a part of a value is hidden: nginx quotes the host of a URL, for example, and
	// cuts long lines.
	leastPart = 8
	// mostSecrets and mostBytes bound the values of earlier configurations that are remembered; the oldest are forgotten first.
	mostSecrets = 512
	mostBytes   = 256 << 10
	// mostRevisions bounds how many configurations' lines are remembered.
	mostRevisions = 32
)

// Confidential is what a configuration contains of Secrets.
type Confidential struct {
	// Values are values of Secrets, by the references to their variables.
	Values map[string]string
	// Lines are the lines with these values, by the names of the files, in their order.
	Lines map[string][]LineRange
}

// LineRange is a range of lines with values of Secrets, one of which has the reference.
type LineRange struct {
	First, Last int
	Reference   string
}

// mostRanges bounds the ranges of a file.
const mostRanges = 1000

// AddLines adds a range that follows the others.
func AddLines(lines []LineRange, added LineRange) []LineRange {
	if n := len(lines); n > 0 && (added.First <= lines[n-1].Last || n == mostRanges) {
		lines[n-1].Last = max(lines[n-1].Last, added.Last)
		return lines
	}
	return append(lines, added)
}

// Secrets are the values of Secrets that configurations contain. They replace the values in messages by the references to
// their variables. The zero value has none.
type Secrets struct {
	mu sync.Mutex
	// all are in the order in which they were found, the latest last. longest are their indexes, by their lengths.
	all     []secret
	longest []int
	// parts finds parts of all, joined by line breaks, at the offsets starts.
	parts  *suffixarray.Index
	starts []int
	// pairs are the pairs of bytes in all.
	pairs map[[2]byte]bool
	// lines are those of the latest configurations, the latest last.
	lines []revisionLines
}

// secret is a value, in lower case, as nginx writes names of servers.
type secret struct{ value, reference string }

type revisionLines struct {
	revision string
	lines    map[string][]LineRange
}

// Add remembers what a revision contains. It keeps the values of earlier configurations, which nginx may still mention.
func (s *Secrets) Add(revision string, found Confidential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLines(revision, found.Lines)
	var latest []secret
	for _, reference := range slices.Sorted(maps.Keys(found.Values)) {
		if value := found.Values[reference]; len(value) >= leastSecret {
			latest = append(latest, secret{string(lower(value)), reference})
		}
	}
	s.all = append(earlier(s.all, latest), latest...)
	s.index()
}

// earlier returns the known values besides the latest ones, as far as they are remembered.
func earlier(known, latest []secret) []secret {
	again := map[secret]bool{}
	for _, found := range latest {
		again[found] = true
	}
	known = slices.DeleteFunc(known, func(found secret) bool { return again[found] })
	first, size := len(known), 0
	for ; first > 0 && len(known)-first+len(latest) < mostSecrets; first-- {
		if size += len(known[first-1].value); size > mostBytes {
			break
		}
	}
	return known[first:]
}

func (s *Secrets) addLines(revision string, lines map[string][]LineRange) {
	s.lines = slices.DeleteFunc(s.lines, func(l revisionLines) bool { return l.revision == revision })
	if len(lines) > 0 {
		s.lines = append(s.lines, revisionLines{revision, lines})
	}
	s.lines = s.lines[max(0, len(s.lines)-mostRevisions):]
}

// index prepares the search for parts of the values.
func (s *Secrets) index() {
	var joined []byte
	s.longest, s.starts, s.pairs = nil, nil, map[[2]byte]bool{}
	for i, found := range s.all {
		s.longest = append(s.longest, i)
		s.starts = append(s.starts, len(joined))
		for i := range len(found.value) - 1 {
			s.pairs[[2]byte([]byte(found.value[i:i+2]))] = true
		}
		joined = append(append(joined, found.value...), '\n')
	}
	s.parts = suffixarray.New(joined)
	slices.SortStableFunc(s.longest, func(a, b int) int { return len(s.all[b].value) - len(s.all[a].value) })
}

// lower returns a text in lower case, with the same offsets.
func lower(text string) []byte {
	all := []byte(text)
	for i, c := range all {
		if c >= 'A' && c <= 'Z' {
			all[i] = c | 0x20
		}
	}
	return all
}

// Hide returns a text without the values and without their longer parts.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return text
	}
	// For each byte, it is 1 more than the index of the value that the byte is a part of.
	hidden := make([]int, len(text))
	s.hideWhole(string(lower(text)), hidden)
	s.hideParts(lower(text), hidden)
	var b strings.Builder
	for i, of := range hidden {
		switch {
		case of == 0:
			b.WriteByte(text[i])
		case i == 0 || hidden[i-1] != of:
			b.WriteString(s.all[of-1].reference)
		}
	}
	return b.String()
}

// hideWhole marks whole values, the longest first: one may contain another.
func (s *Secrets) hideWhole(text string, hidden []int) {
	for _, index := range s.longest {
		value, from := s.all[index].value, 0
		for at := strings.Index(text, value); at >= 0; at = strings.Index(text[from:], value) {
			mark(hidden[from+at:from+at+len(value)], index+1)
			from += at + len(value)
		}
	}
}

// mark marks the bytes that have no mark.
func mark(hidden []int, of int) {
	for i := range hidden {
		if hidden[i] == 0 {
			hidden[i] = of
		}
	}
}

// hideParts marks the parts of values.
func (s *Secrets) hideParts(text []byte, hidden []int) {
	for i := 0; i+leastPart <= len(text); i++ {
		part := text[i : i+leastPart]
		if !s.pairs[[2]byte(part[leastPart-2:])] {
			// No part of a value contains this pair.
			i += leastPart - 2
			continue
		}
		at := s.parts.Lookup(part, 1)
		if len(at) == 0 {
			continue
		}
		of := hidden[i]
		if of == 0 {
			// The search returns where the offset is, or where it would be inserted.
			found, exact := slices.BinarySearch(s.starts, at[0])
			if of = found; exact {
				of++
			}
		}
		mark(hidden[i:i+leastPart], of)
	}
}

// at returns the reference to a value of a Secret in a line of a revision; empty: there is none. Without a revision, it
// considers all.
func (s *Secrets) at(revision, file string, line int) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range slices.Backward(s.lines) {
		if revision != "" && l.revision != revision {
			continue
		}
		for _, r := range l.lines[file] {
			if r.First <= line && line <= r.Last {
				return r.Reference
			}
		}
	}
	return ""
}

// HideIn removes the values from problems. The names of the configuration's own files have none.
func (s *Secrets) HideIn(found []instanceapi.Problem) {
	for i := range found {
		found[i].Message = s.Hide(found[i].Message)
		if filepath.IsAbs(found[i].File) {
			found[i].File = s.Hide(found[i].File)
		}
	}
}
