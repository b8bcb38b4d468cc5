package instance

import (
	"slices"

	"example.com/nginx-operator/internal/instanceapi"
)

// mostReported is the number of results that an instance keeps besides those of revisions in use.
const mostReported = 4

// results are the results of revisions, the latest first.
type results []instanceapi.Revision

// of returns the result of a revision; zero: it was not tested, or is forgotten.
func (r *results) of(revision string) instanceapi.Revision {
	if i := r.index(revision); i >= 0 {
		return (*r)[i]
	}
	return instanceapi.Revision{}
}

func (r *results) index(revision string) int {
	return slices.IndexFunc(*r, func(o instanceapi.Revision) bool { return o.Revision == revision })
}

// set replaces the result of a revision, and makes it the latest.
func (r *results) set(result instanceapi.Revision) {
	if i := r.index(result.Revision); i >= 0 {
		*r = slices.Delete(*r, i, i+1)
	}
	*r = slices.Insert(*r, 0, result)
}

// forget drops old results of revisions that are not in use.
func (r *results) forget(inUse ...string) {
	for i := len(*r) - 1; i >= mostReported; i-- {
		if !slices.Contains(inUse, (*r)[i].Revision) {
			*r = slices.Delete(*r, i, i+1)
		}
	}
}
