package load

import (
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"sync/atomic"
)

// placeholder stands for the number of the object in Clients.Path and Clients.Expect.
const placeholder = "{object}"

// Objects makes each request choose one of Count objects, whose number replaces {object} in Clients.Path and
// Clients.Expect.
type Objects struct {
	Count int `json:"count"`
	// Exponent is that of the Zipf law: object k is requested in proportion to (k+1)^-Exponent. 0: all equally often.
	Exponent float64 `json:"exponent,omitempty"`
	// Seed makes the choices of two runs with the same clients equal.
	Seed uint64 `json:"seed,omitempty"`
	// Once makes the clients of a target request each object once, in the order of their numbers, and then end.
	Once bool `json:"once,omitempty"`
	// Owners records in the report which shard of a cache an object was requested from.
	Owners bool `json:"owners,omitempty"`
}

// chooser returns the object of the next request; false: there is none left.
type chooser func() (object int, ok bool)

func always() (int, bool) { return 0, true }

// once returns a chooser that all clients of a target share.
func (o *Objects) once() chooser {
	var taken atomic.Int64
	return func() (int, bool) {
		n := int(taken.Add(1)) - 1
		return n, n < o.Count
	}
}

// random returns the chooser of a client.
func (o *Objects) random(law zipf, client int) chooser {
	source := rand.New(rand.NewPCG(o.Seed, uint64(client)))
	return func() (int, bool) { return law.object(source.Float64()), true }
}

// choosers returns the choosers of n clients of one target, the first of which has the given number.
func (o *Objects) choosers(law zipf, first, n int) []chooser {
	all := make([]chooser, n)
	var shared chooser
	switch {
	case o == nil:
		shared = always
	case o.Once:
		shared = o.once()
	}
	for i := range all {
		if all[i] = shared; shared == nil {
			all[i] = o.random(law, first+i)
		}
	}
	return all
}

// zipf has the probability that a request is for one of the objects up to each.
type zipf []float64

// law returns the law by which objects are chosen.
func (o *Objects) law() zipf {
	if o == nil {
		return nil
	}
	law := make(zipf, o.Count)
	sum := 0.0
	for k := range law {
		sum += math.Pow(float64(k+1), -o.Exponent)
		law[k] = sum
	}
	for k := range law {
		law[k] /= sum
	}
	return law
}

// object returns the object of a number that is at least 0 and less than 1.
func (z zipf) object(u float64) int {
	return min(sort.Search(len(z), func(k int) bool { return z[k] > u }), len(z)-1)
}

// Share returns the share of all requests that are for some objects.
func (o *Objects) Share(objects []int) float64 {
	law, share := o.law(), 0.0
	for _, k := range objects {
		share += law[k]
		if k > 0 {
			share -= law[k-1]
		}
	}
	return share
}

// text is a text in pieces, between which the number of an object is.
type text []string

func (t text) append(to []byte, object int) []byte {
	for i, piece := range t {
		if i > 0 {
			to = strconv.AppendInt(to, int64(object), 10)
		}
		to = append(to, piece...)
	}
	return to
}
