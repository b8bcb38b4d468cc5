package load

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxExamples bounds the number of failures of each kind in a report.
	maxExamples = 5
	// maxSightings bounds the number of revisions, and of certificates, in a report.
	maxSightings = 5000
	// maxText bounds the text of a failure.
	maxText = 400
)

// outcome is the outcome of one request.
type outcome struct {
	kind, target string
	start        time.Time
	took         time.Duration
	revision     string
	serial       string
	closing      bool
	object       int
	cached       cached
	failure      *Failure
}

// sighted is a name that a target answered with.
type sighted struct{ target, name string }

// stats has the counts of a run. Its size is bounded.
type stats struct {
	mu        sync.Mutex
	total     Report
	latency   histogram
	byClients map[string]*Tally
	revisions map[sighted]*Sighting
	serials   map[sighted]*Sighting
	// timeline is empty, and owners is nil, unless they are to be recorded.
	hasTimeline bool
	timeline    timeline
	owners      map[int]string
}

func newStats(o Options) *stats {
	s := &stats{
		total:     Report{Started: time.Now(), Failures: map[Kind]int64{}},
		byClients: map[string]*Tally{},
		revisions: map[sighted]*Sighting{},
		serials:   map[sighted]*Sighting{},

		hasTimeline: o.Timeline,
	}
	if o.Objects != nil && o.Objects.Owners {
		s.owners = map[int]string{}
	}
	return s
}

func (s *stats) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Connections++
}

func (s *stats) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Ended = time.Now()
}

func (s *stats) record(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tally := s.byClients[o.kind]
	if tally == nil {
		tally = &Tally{Clients: o.kind}
		s.byClients[o.kind] = tally
	}
	s.total.Requests++
	tally.Requests++
	if o.closing {
		s.total.Closed++
	}
	if s.hasTimeline {
		s.timeline.add(o.start.Sub(s.total.Started), o.failure != nil, o.cached.place)
	}
	if o.failure != nil {
		tally.Failed++
		s.fail(o)
		return
	}
	s.latency.add(o.took)
	if s.owners != nil && o.cached.owner != "" {
		s.owners[o.object] = o.cached.owner
	}
	s.sight(s.revisions, o, o.revision)
	s.sight(s.serials, o, o.serial)
}

func (s *stats) fail(o outcome) {
	s.total.Failed++
	s.total.Failures[o.failure.Kind]++
	if s.total.Failures[o.failure.Kind] > maxExamples {
		return
	}
	failure := *o.failure
	failure.Text = failure.Text[:min(len(failure.Text), maxText)]
	s.total.Examples = append(s.total.Examples, Example{Time: o.start, Clients: o.kind, Target: o.target, Failure: failure})
}

func (s *stats) sight(all map[sighted]*Sighting, o outcome, name string) {
	if name == "" {
		return
	}
	key := sighted{o.target, name}
	seen := all[key]
	if seen == nil {
		if len(all) >= maxSightings {
			s.total.Unlisted++
			return
		}
		seen = &Sighting{Target: o.target, Name: name, First: o.start.Add(o.took)}
		all[key] = seen
	}
	seen.Answers++
	if o.start.After(seen.Last) {
		seen.Last = o.start
	}
	if end := o.start.Add(o.took); end.Before(seen.First) {
		seen.First = end
	}
}

// report returns a copy that does not change.
func (s *stats) report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.total
	r.Failures = maps.Clone(s.total.Failures)
	r.Examples = slices.Clone(s.total.Examples)
	r.Latency = s.latency.latency()
	r.Timeline, r.Owners = slices.Clone(s.timeline), s.objects()
	for _, name := range slices.Sorted(maps.Keys(s.byClients)) {
		r.ByClients = append(r.ByClients, *s.byClients[name])
	}
	r.Revisions, r.Serials = sightings(s.revisions), sightings(s.serials)
	return r
}

// objects returns the objects of each owner.
func (s *stats) objects() map[string][]int {
	if s.owners == nil {
		return nil
	}
	all := map[string][]int{}
	for _, object := range slices.Sorted(maps.Keys(s.owners)) {
		all[s.owners[object]] = append(all[s.owners[object]], object)
	}
	return all
}

func sightings(all map[sighted]*Sighting) []Sighting {
	var list []Sighting
	for _, seen := range all {
		list = append(list, *seen)
	}
	slices.SortFunc(list, func(a, b Sighting) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.Target, b.Target), strings.Compare(a.Name, b.Name))
	})
	return list
}
