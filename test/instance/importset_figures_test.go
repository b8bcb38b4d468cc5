//go:build instance && importset

package instance_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/nginx-operator/test/importset"
)

// comparison adds up what was compared.
type comparison struct {
	mu                    sync.Mutex
	wholes, parts, failed int
	requests, equal       int
	refused, differing    map[string]int
	// answers are those of the originals, by their status or failure.
	answers map[string]int
}

func newComparison() *comparison {
	return &comparison{refused: map[string]int{}, differing: map[string]int{}, answers: map[string]int{}}
}

func (o *comparison) refuse(t *testing.T, reason string) {
	t.Helper()
	t.Log("not run: " + reason)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused[reason]++
}

func (o *comparison) fail(t *testing.T, part bool) {
	t.Helper()
	o.accept(part)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed++
}

func (o *comparison) accept(part bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if part {
		o.parts++
	} else {
		o.wholes++
	}
}

func (o *comparison) compare(t *testing.T, r importset.Request, want, got reply, diff string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests++
	o.answers[cmp.Or(want.Failure, strconv.Itoa(want.Status))]++
	if same(want, got) {
		o.equal++
		return
	}
	o.differing[cause(want, got)]++
	t.Errorf("%s (-original +imported):\n%s", r, diff)
}

// cause returns what differs.
func cause(want, got reply) string {
	switch {
	case want.Failure != got.Failure:
		return fmt.Sprintf("failure %q, not %q", got.Failure, want.Failure)
	case want.Status != got.Status:
		return fmt.Sprintf("status %d, not %d", got.Status, want.Status)
	case want.Certificate != got.Certificate:
		return "certificate"
	case want.Protocol != got.Protocol:
		return fmt.Sprintf("protocol %q, not %q", got.Protocol, want.Protocol)
	case want.Body != got.Body:
		return "body"
	}
	return "headers"
}

// report returns the figures as text.
func (o *comparison) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d whole configurations and %d parts run; the imports of %d of them do not\n", o.wholes, o.parts, o.failed)
	fmt.Fprintf(&b, "%d requests: %d answers are equal, %d differ\n", o.requests, o.equal, o.requests-o.equal)
	for _, table := range []struct {
		title  string
		counts map[string]int
	}{{"differences", o.differing}, {"answers of the originals", o.answers}, {"configurations that do not run", o.refused}} {
		fmt.Fprintf(&b, "\n%s:\n", table.title)
		byCount := func(a, b string) int {
			return cmp.Or(cmp.Compare(table.counts[b], table.counts[a]), cmp.Compare(a, b))
		}
		for _, name := range slices.SortedFunc(maps.Keys(table.counts), byCount) {
			fmt.Fprintf(&b, "%7d %s\n", table.counts[name], name)
		}
	}
	return b.String()
}
