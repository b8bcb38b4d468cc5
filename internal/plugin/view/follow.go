package view

import (
	"context"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/watch"
)

// Feed holds an application with what belongs to it, as watches report it.
type Feed struct {
	key client.ObjectKey
	// Changed receives a value after a change. One that is not taken stands for all later ones.
	Changed chan struct{}

	mu        sync.Mutex
	nginx     map[string]v1alpha2.NginxOperator
	pods      map[string]corev1.Pod
	revisions map[string]appsv1.ControllerRevision
	events    map[string]eventsv1.Event
	forbidden []string
	// pending is the number of resources that have not been read yet.
	pending int
	failed  error
	// lost is why the API server cannot be reached for the moment; nil: it can.
	lost error
}

// Follow follows an application until the context ends, with one watch for each of four resources.
func Follow(ctx context.Context, c rest.Interface, key client.ObjectKey) *Feed {
	f := &Feed{
		key: key, Changed: make(chan struct{}, 1), nginx: map[string]v1alpha2.NginxOperator{}, pods: map[string]corev1.Pod{},
		revisions: map[string]appsv1.ControllerRevision{}, events: map[string]eventsv1.Event{},
	}
	path := func(groupVersion, resource string) string {
		return groupVersion + "/namespaces/" + key.Namespace + "/" + resource
	}
	labels := naming.Selector(key.Name).String()
	about := fields.Set{"regarding.kind": v1alpha2.Kind, "regarding.name": key.Name}.AsSelector().String()
	follow(ctx, c, f, "nginxoperators", f.nginx, watch.Resource{
		Path: path("/apis/"+v1alpha2.GroupVersion.String(), "nginxoperators"), Fields: fields.OneTermEqualSelector("metadata.name", key.Name).String(),
	})
	follow(ctx, c, f, "pods", f.pods, watch.Resource{Path: path("/api/v1", "pods"), Labels: labels})
	follow(ctx, c, f, "controllerrevisions.apps", f.revisions, watch.Resource{Path: path("/apis/apps/v1", "controllerrevisions"), Labels: labels})
	follow(ctx, c, f, "events.events.k8s.io", f.events, watch.Resource{Path: path("/apis/events.k8s.io/v1", "events"), Fields: about})
	return f
}

// named is a pointer to an object with a name.
type named[T any] interface {
	*T
	GetName() string
}

// follow follows one resource.
func follow[T any, P named[T]](ctx context.Context, c rest.Interface, f *Feed, name string, objects map[string]T, selected watch.Resource) {
	// Watches that were started before report already.
	f.update(func() { f.pending++ })
	read := false
	handler := watch.Handler[T]{
		Key:  func(object *T) string { return P(object).GetName() },
		Put:  func(object *T) { f.update(func() { objects[P(object).GetName()] = *object }) },
		Gone: func(key string) { f.update(func() { delete(objects, key) }) },
		Synced: func() {
			f.update(func() {
				f.lost = nil
				if !read {
					read = true
					f.pending--
				}
			})
		},
		Lost: func(err error) { f.update(func() { f.lost = err }) },
	}
	go func() {
		err := watch.Follow(ctx, c, selected, handler)
		if err == nil {
			return
		}
		f.update(func() {
			f.pending--
			if apierrors.IsForbidden(err) && name != "nginxoperators" {
				f.forbidden = append(f.forbidden, name)
				return
			}
			f.failed = err
		})
	}()
}

func (f *Feed) update(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	select {
	case f.Changed <- struct{}{}:
	default:
	}
}

// Application returns what the watches have reported; nil: not all of them have yet. The error says why none ever will, or
// that the application is gone.
func (f *Feed) Application() (*Application, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed != nil:
		return nil, f.failed
	case f.pending > 0:
		return nil, nil //nolint:nilnil // Nil means that not all watches have reported yet.
	case len(f.nginx) == 0:
		return nil, apierrors.NewNotFound(v1alpha2.GroupVersion.WithResource("nginxoperators").GroupResource(), f.key.Name)
	}
	a := &Application{
		Nginx: f.nginx[f.key.Name], Pods: slices.Collect(maps.Values(f.pods)), History: history.Read(slices.Collect(maps.Values(f.revisions))),
		Events: slices.Collect(maps.Values(f.events)), Forbidden: slices.Clone(f.forbidden), Lost: f.lost,
	}
	slices.Sort(a.Forbidden)
	return a, nil
}
