package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report tells what happened in a run.
type Report struct {
	Started time.Time `json:"started"`
	// Ended is zero while the run goes on.
	Ended time.Time `json:"ended,omitzero"`
	// Requests were made, and of them Failed were not answered as they should have been.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// Failures counts the failed by their kind.
	Failures map[Kind]int64 `json:"failures,omitempty"`
	// Examples are the first failures of each kind.
	Examples []Example `json:"examples,omitempty"`
	// Connections were made, and of them Closed ended because the server asked for it.
	Connections int64 `json:"connections"`
	Closed      int64 `json:"closed"`
	// ByClients counts for each kind of clients.
	ByClients []Tally `json:"byClients"`
	Latency   Latency `json:"latency"`
	// Revisions are those that were seen, at each target.
	Revisions []Sighting `json:"revisions,omitempty"`
	// Serials are the serial numbers, in hexadecimal digits, of the certificates that
	// were served.
	Serials []Sighting `json:"serials,omitempty"`
	// Unlisted is how many answers were of revisions or certificates beyond what the
	// report has room for.
	Unlisted int64 `json:"unlisted,omitempty"`
}

// Example is one failure.
type Example struct {
	Time    time.Time `json:"time"`
	Clients string    `json:"clients"`
	Target  string    `json:"target"`
	Failure
}

// Tally counts the requests of one kind of clients.
type Tally struct {
	Clients  string `json:"clients"`
	Requests int64  `json:"requests"`
	Failed   int64  `json:"failed"`
}

// Sighting is a revision or certificate that one target answered with.
type Sighting struct {
	Target string `json:"target"`
	Name   string `json:"name"`
	// Answers counts them; First and Last are when the requests of the first and the last of
	// them ended and began: the name was served at First, and still at Last.
	Answers int64     `json:"answers"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Rate is how many requests were made in a second.
func (r Report) Rate() float64 {
	end := r.Ended
	if end.IsZero() {
		end = time.Now()
	}
	if took := end.Sub(r.Started); took > 0 {
		return float64(r.Requests) / took.Seconds()
	}
	return 0
}

// Names are the revisions or serial numbers of sightings, sorted, each once.
func Names(sightings []Sighting) []string {
	names := map[string]bool{}
	for _, s := range sightings {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Explain tells of the failures, a line for each kind and example.
func (r Report) Explain() []string {
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(r.Failures)) {
		lines = append(lines, fmt.Sprintf("%s: %d", kind, r.Failures[kind]))
	}
	for _, e := range r.Examples {
		lines = append(lines, fmt.Sprintf("%s %s at %s: %s: %s", e.Time.UTC().Format("15:04:05.000"), e.Clients, e.Target, e.Kind, e.Text))
	}
	return lines
}

// String is for the log of a test.
func (r Report) String() string {
	line := fmt.Sprintf("%d requests, %d failed, %.0f a second, half within %.1f ms, the slowest %.0f ms",
		r.Requests, r.Failed, r.Rate(), 1000*r.Latency.P50, 1000*r.Latency.Max)
	return strings.Join(append([]string{line}, r.Explain()...), "\n  ")
}
