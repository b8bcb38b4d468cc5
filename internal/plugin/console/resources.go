package console

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/plugin/console/page"
	"example.com/nginx-operator/internal/plugin/watch"
)

// resource is a resource of an application's namespace, and where its objects are kept.
type resource[T any] struct {
	name           string
	version        schema.GroupVersion
	labels, fields string
	objects        map[string]T
	// trim drops fields that are not shown; nil: all are.
	trim func(*T)
}

// named is a pointer to an object with a name.
type named[T any] interface {
	*T
	GetName() string
}

// start follows a resource into the feed.
func start[T any, P named[T]](ctx context.Context, v *Viewer, f *applicationFeed, r resource[T]) {
	// Watches that were started before report already.
	f.update(func() { f.pending[r.name] = true })
	key := func(object *T) string { return P(object).GetName() }
	handler := watch.Handler[T]{
		Key: key,
		Put: func(object *T) {
			if r.trim != nil {
				r.trim(object)
			}
			f.update(func() { r.objects[key(object)] = *object })
		},
		Gone:   func(name string) { f.update(func() { delete(r.objects, name) }) },
		Synced: func() { f.update(func() { delete(f.pending, r.name); delete(f.lost, r.name) }) },
		Lost: func(err error) {
			_, text := explain(err)
			f.update(func() { f.lost[r.name] = text.Message })
		},
	}
	selected := watch.Resource{Path: pathOf(f.key.Namespace, r.name, r.version), Labels: r.labels, Fields: r.fields}
	go func() {
		if err := watch.Follow(ctx, v.raw, selected, handler); err != nil {
			f.refused(r.name, err)
		}
	}()
}

func (f *applicationFeed) update(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.changes.report()
}

// refused records that the API server refuses a resource. Without the application itself there is no page.
func (f *applicationFeed) refused(resource string, err error) {
	if resource == applications {
		f.changes.fail(err)
		return
	}
	_, text := explain(err)
	f.update(func() {
		delete(f.pending, resource)
		delete(f.lost, resource)
		// A cluster without the backup operator has no such resource.
		if !apierrors.IsNotFound(err) {
			f.notShown[resource] = text.Message
		}
	})
}

// read returns the parts of the page, and whether all resources have been read as far as they can be.
func (f *applicationFeed) read() (parts []page.Part, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.pending {
		if f.lost[name] == "" {
			return nil, false
		}
	}
	o := &page.Objects{
		Pods: values(f.pods), Revisions: values(f.revisions), ConfigMaps: values(f.maps), Events: values(f.events), Backups: values(f.backups),
		Zones: f.zones, NotShown: f.notShown,
	}
	for _, n := range f.nginx {
		o.Nginx = &n
	}
	return append(page.Parts(o), page.Part{Name: "lost", Data: f.reasons()}), true
}

// missing reports whether the application does not exist.
func (f *applicationFeed) missing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.nginx) == 0
}

// values returns the objects of a map. Their order does not matter: the page sorts them.
func values[T any](of map[string]T) []T { return slices.Collect(maps.Values(of)) }

// reasons returns why resources cannot be read for the moment.
func (f *applicationFeed) reasons() string {
	return strings.Join(slices.Compact(slices.Sorted(maps.Values(f.lost))), "; ")
}

// findZones reads the zones of nodes that are new, if the pods do not have them.
func (f *applicationFeed) findZones(ctx context.Context, v *Viewer) {
	for _, name := range f.unknownNodes() {
		node := &corev1.Node{}
		err := v.raw.Get().AbsPath("/api/v1/nodes", name).Do(ctx).Into(node)
		f.mu.Lock()
		f.zones[name] = node.Labels[corev1.LabelTopologyZone]
		if err != nil && !apierrors.IsNotFound(err) {
			_, text := explain(err)
			f.notShown["zones of nodes"] = text.Message
		}
		f.mu.Unlock()
	}
}

// unknownNodes returns the nodes of the pods whose zones are not known. If one could not be read, the others are not
// requested.
func (f *applicationFeed) unknownNodes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notShown["zones of nodes"] != "" {
		return nil
	}
	nodes := map[string]bool{}
	for _, pod := range f.pods {
		name := pod.Spec.NodeName
		if _, known := f.zones[name]; name != "" && !known && page.ZoneOf(&pod, nil) == "" {
			nodes[name] = true
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}
