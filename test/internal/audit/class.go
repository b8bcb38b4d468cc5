package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Class is the kind of load that a request causes. The classes separate the requests of an idle
// operator.
type Class string

// The classes of requests.
const (
	// Write is a request that changes something.
	Write Class = "writes"
	// Read is a request that returns objects.
	Read Class = "reads"
	// Watch is a watch that resumes where an earlier one ended, and so reads nothing by itself.
	Watch Class = "watch renewals"
	// Lease is leader election, which continues for as long as an operator runs.
	Lease Class = "lease requests"
	// LeaseEvent is an event that reports a new leader.
	LeaseEvent Class = "lease events"
	// Review is a request to authenticate or authorize a client of the operator. That client causes
	// it, not the operator.
	Review Class = "access reviews"
)

// Classify returns the class of a request. home is the namespace that the operator runs in.
func Classify(e Event, home string) Class {
	if class, ok := aside(e, home); ok {
		return class
	}
	switch {
	case e.Lists() || e.Verb == "get" || e.Verb == "head":
		return Read
	case e.Verb == "watch":
		return Watch
	}
	// A request that is not known to be harmless counts as a write.
	return Write
}

// aside classifies requests that do not result from the objects that the operator manages. The
// operator manages nothing in its own namespace, so an event there comes from leader election.
func aside(e Event, home string) (Class, bool) {
	inHome := e.Object != nil && e.Object.Namespace == home
	switch e.Resource() {
	case "leases":
		return Lease, inHome
	case "events":
		return LeaseEvent, inHome && (e.Verb == "create" || e.Verb == "patch")
	case "tokenreviews", "subjectaccessreviews":
		return Review, true
	}
	return "", false
}

// ByClass groups requests by class.
func ByClass(events []Event, home string) map[Class][]Event {
	classes := map[Class][]Event{}
	for _, e := range events {
		class := Classify(e, home)
		classes[class] = append(classes[class], e)
	}
	return classes
}

// tallyLines is the maximum number of lines in a tally.
const tallyLines = 20

// Tally counts requests by verb, resource, namespace and response, one per line, most frequent
// first. It sums up the rest of a long tally in one line.
func Tally(events []Event) []string {
	counts, lines := frequencies(events)
	rest := 0
	for i, line := range lines {
		if i >= tallyLines {
			rest += counts[line]
		}
		lines[i] = fmt.Sprintf("%d × %s", counts[line], line)
	}
	if rest > 0 {
		lines = append(lines[:tallyLines], fmt.Sprintf("%d × others", rest))
	}
	return lines
}

// Each returns how often each kind of request was made for each of n objects, on average, one kind
// per line, most frequent first.
func Each(events []Event, n int) []string {
	counts, lines := frequencies(events)
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%.3f × %s", float64(counts[line])/float64(n), line)
	}
	return lines
}

// frequencies returns the kinds of requests, most frequent first, and the count of each.
func frequencies(events []Event) (map[string]int, []string) {
	counts := map[string]int{}
	for _, e := range events {
		counts[describe(e)]++
	}
	return counts, slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// In returns the requests about one namespace.
func In(namespace string, events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		return e.Object == nil || e.Object.Namespace != namespace
	})
}

func describe(e Event) string {
	if e.Object == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return fmt.Sprintf("%s %s (%d)", e.Verb, path, e.Response.Code)
	}
	text := e.Verb + " " + e.Resource()
	if e.Object.Namespace != "" {
		text += " in " + e.Object.Namespace
	}
	return fmt.Sprintf("%s (%d)", text, e.Response.Code)
}

// Durations returns how long the API server took on average for each kind of request, one kind per
// line, slowest first.
func Durations(events []Event) []string {
	kinds := map[string][]Event{}
	for _, e := range events {
		kind := e.Verb + " " + e.Resource()
		kinds[kind] = append(kinds[kind], e)
	}
	lines := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(MeanDuration(kinds[b]), MeanDuration(kinds[a])), strings.Compare(a, b))
	})
	for i, kind := range lines {
		lines[i] = fmt.Sprintf("%.1f ms for %s", MeanDuration(kinds[kind]).Seconds()*1000, kind)
	}
	return lines
}

// MeanDuration returns how long the API server took on average for a request.
func MeanDuration(events []Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	var sum time.Duration
	for _, e := range events {
		sum += e.Done.Sub(e.Received)
	}
	return sum / time.Duration(len(events))
}
