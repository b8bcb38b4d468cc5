package console

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/plugin/watch"
)

// runningPods are the pods of an application that run, as a watch reports them.
type runningPods struct {
	changes *changes
	// synced is closed when all pods are known.
	synced chan struct{}

	mu   sync.Mutex
	pods map[string]bool
}

// followRunning starts the watch. It ends with the context.
func followRunning(ctx context.Context, v *Viewer, namespace, application string) *runningPods {
	p := &runningPods{changes: newChanges(), synced: make(chan struct{}), pods: map[string]bool{}}
	selected := watch.Resource{Path: pathOf(namespace, "pods", corev1.SchemeGroupVersion), Labels: naming.Selector(application).String()}
	go func() {
		if err := watch.Follow(ctx, v.raw, selected, p.handler()); err != nil {
			p.changes.fail(err)
		}
	}()
	return p
}

func (p *runningPods) handler() watch.Handler[corev1.Pod] {
	var once sync.Once
	return watch.Handler[corev1.Pod]{
		Key:    func(pod *corev1.Pod) string { return pod.Name },
		Put:    func(pod *corev1.Pod) { p.set(pod.Name, observe.Running(pod)) },
		Gone:   func(name string) { p.set(name, false) },
		Synced: func() { once.Do(func() { close(p.synced) }) },
		// The stream of the application says that the API server cannot be reached.
		Lost: func(error) {},
	}
}

func (p *runningPods) set(name string, running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if running {
		p.pods[name] = true
	} else {
		delete(p.pods, name)
	}
}

// names returns the names of the pods.
func (p *runningPods) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.pods))
}
