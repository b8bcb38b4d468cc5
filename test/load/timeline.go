package load

import "time"

// maxTimeline bounds the timeline of a report, in seconds.
const maxTimeline = 3600

// Second counts the requests that began in one second of a run. Edge, Shard and Origin count the answers of caches by
// where they came from: the cache nearest to the client, one behind it, or none.
type Second struct {
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed,omitempty"`
	Edge     int64 `json:"edge,omitempty"`
	Shard    int64 `json:"shard,omitempty"`
	Origin   int64 `json:"origin,omitempty"`
}

// Add adds the counts of another second.
func (s Second) Add(o Second) Second {
	return Second{s.Requests + o.Requests, s.Failed + o.Failed, s.Edge + o.Edge, s.Shard + o.Shard, s.Origin + o.Origin}
}

// timeline counts the requests of each second since the start of a run.
type timeline []Second

func (t *timeline) add(since time.Duration, failed bool, from place) {
	second := int(since / time.Second)
	if second < 0 || second >= maxTimeline {
		return
	}
	for len(*t) <= second {
		*t = append(*t, Second{})
	}
	s := &(*t)[second]
	s.Requests++
	if failed {
		s.Failed++
		return
	}
	switch from {
	case fromEdge:
		s.Edge++
	case fromShard:
		s.Shard++
	case fromOrigin:
		s.Origin++
	case nowhere:
	}
}
