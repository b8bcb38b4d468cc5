package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report describes a run.
type Report struct {
	Started time.Time `json:"started"`
	// Ended is zero while the run continues.
	Ended time.Time `json:"ended,omitzero"`
	// Requests is the number of requests, and Failed the number of those that were not answered as
	// expected.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// Failures counts the failed requests by kind.
	Failures map[Kind]int64 `json:"failures,omitempty"`
	// Examples are the first failures of each kind.
	Examples []Example `json:"examples,omitempty"`
	// Connections is the number of connections, and Closed the number of those that the server
	// asked to close.
	Connections int64 `json:"connections"`
	Closed      int64 `json:"closed"`
	// ByClients has the counts of each kind of clients.
	ByClients []Tally `json:"byClients"`
	Latency   Latency `json:"latency"`
	// Revisions are the revisions that each target answered with.
	Revisions []Sighting `json:"revisions,omitempty"`
	// Serials are the serial numbers, in hexadecimal digits, of the certificates that were served.
	Serials []Sighting `json:"serials,omitempty"`
	// Timeline has the requests of each second, by the time at which they began.
	Timeline []Second `json:"timeline,omitempty"`
	// Owners has the objects that each shard of a cache was requested for.
	Owners map[string][]int `json:"owners,omitempty"`
	// Unlisted counts the responses with revisions or certificates for which the report has no
	// room.
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
	// Answers is the number of such responses. First is the end of the first one's request and Last
	// the beginning of the last one's: the target served the name at First, and still at Last.
	Answers int64     `json:"answers"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// Rate returns the number of requests per second.
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

// Names returns the sorted, unique names of sightings.
func Names(sightings []Sighting) []string {
	names := map[string]bool{}
	for _, s := range sightings {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Explain describes the failures, with a line for each kind and example.
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

// String returns a summary for the log of a test.
func (r Report) String() string {
	line := fmt.Sprintf("%d requests, %d failed, %.0f/s, median %.1f ms, slowest %.0f ms",
		r.Requests, r.Failed, r.Rate(), 1000*r.Latency.P50, 1000*r.Latency.Max)
	return strings.Join(append([]string{line}, r.Explain()...), "\n  ")
}
