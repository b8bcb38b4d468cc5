package console

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/validation"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console/fleet"
	"example.com/nginx-operator/internal/plugin/watch"
)

// fleetUpdate is a line of the stream of the fleet.
type fleetUpdate struct {
	Rows []fleet.Row `json:"rows,omitempty"`
	// Gone are the keys of applications that exist no longer.
	Gone []string `json:"gone,omitempty"`
	// Synced is true once all applications have been sent.
	Synced bool `json:"synced,omitempty"`
	// Lost says why the API server cannot be reached.
	Lost string `json:"lost,omitempty"`
}

// fleet streams the applications of a namespace, or of all.
func (c *console) fleet(ctx context.Context, r *http.Request, v *Viewer, s *stream) error {
	namespace := r.URL.Query().Get("namespace")
	if namespace != "" && len(validation.ValidateNamespaceName(namespace, false)) > 0 {
		return invalid{errNamespace}
	}
	f := newFleetFeed()
	go func() {
		if err := watch.Follow(ctx, v.raw, watch.Resource{Path: pathOf(namespace, applications, v1alpha2.GroupVersion)}, f.handler()); err != nil {
			f.changes.fail(err)
		}
	}()
	return s.pump(ctx, f.changes, func() error { return s.send(f.take()) })
}

// fleetFeed collects what has not been sent. A reader that is slow gets the last state of each application only.
type fleetFeed struct {
	changes *changes

	mu     sync.Mutex
	rows   map[string]fleet.Row
	gone   map[string]bool
	synced bool
	lost   string
}

func newFleetFeed() *fleetFeed {
	return &fleetFeed{changes: newChanges(), rows: map[string]fleet.Row{}, gone: map[string]bool{}}
}

func (f *fleetFeed) handler() watch.Handler[fleet.Application] {
	return watch.Handler[fleet.Application]{
		Key: fleet.Key,
		Put: func(a *fleet.Application) {
			key, row := fleet.Key(a), fleet.Of(a)
			f.update(func() { f.rows[key] = row; delete(f.gone, key) })
		},
		Gone: func(key string) {
			f.update(func() { f.gone[key] = true; delete(f.rows, key) })
		},
		Synced: func() { f.update(func() { f.synced, f.lost = true, "" }) },
		Lost: func(err error) {
			_, text := explain(err)
			f.update(func() { f.synced, f.lost = false, text.Message })
		},
	}
}

func (f *fleetFeed) update(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.changes.report()
}

// take returns what has not been sent.
func (f *fleetFeed) take() fleetUpdate {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := fleetUpdate{Synced: f.synced, Lost: f.lost}
	for _, row := range f.rows {
		u.Rows = append(u.Rows, row)
	}
	for key := range f.gone {
		u.Gone = append(u.Gone, key)
	}
	clear(f.rows)
	clear(f.gone)
	return u
}
