package problems

import (
	"slices"
	"strings"
	"sync"

	"example.com/nginx-operator/internal/instanceapi"
)

// leastSecret is the length in bytes from which a value is hidden. A shorter one is in most messages by chance.
const leastSecret = 4

// mostSecrets bounds how many values are remembered; the oldest are forgotten first.
const mostSecrets = 512

// Secrets are the values of Secrets that configurations contain. They replace the values in messages by the references to
// their variables. The zero value has none.
type Secrets struct {
	mu sync.Mutex
	// all are in the order in which they were found, and longest are the same by their lengths: one may contain another.
	all, longest []secret
}

type secret struct{ value, reference string }

// Add remembers values, by their references. It keeps those of earlier configurations, which nginx may still mention.
func (s *Secrets) Add(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for reference, value := range values {
		found := secret{value, reference}
		if len(value) >= leastSecret && !slices.Contains(s.all, found) {
			s.all = append(s.all, found)
		}
	}
	s.all = s.all[max(0, len(s.all)-mostSecrets):]
	s.longest = slices.SortedFunc(slices.Values(s.all), func(a, b secret) int { return len(b.value) - len(a.value) })
}

// Hide returns a text without the values.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range s.longest {
		text = strings.ReplaceAll(text, found.value, found.reference)
	}
	return text
}

// HideIn removes the values from problems.
func (s *Secrets) HideIn(found []instanceapi.Problem) {
	for i := range found {
		found[i].Message = s.Hide(found[i].Message)
	}
}
