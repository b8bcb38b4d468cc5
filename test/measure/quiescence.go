package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// quiescence watches how many pods of an application are ready. Because it uses a watch, it does
// not miss even a moment with too few.
type quiescence struct {
	cancel context.CancelFunc
	done   chan struct{}
	ready  map[types.UID]bool
	lowest int
	err    error
}

// watch starts with the current pods of an application.
func (b *bench) watch(ctx context.Context, nginx *v1alpha2.NginxOperator) (*quiescence, error) {
	list := &corev1.PodList{}
	which := []client.ListOption{client.InNamespace(b.namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))}
	if err := b.client.List(ctx, list, which...); err != nil {
		return nil, err
	}
	v := &quiescence{done: make(chan struct{}), ready: map[types.UID]bool{}}
	for i := range list.Items {
		v.note(&list.Items[i], false)
	}
	v.lowest = len(v.ready)
	ctx, v.cancel = context.WithCancel(ctx)
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	watcher, err := b.client.Watch(ctx, &corev1.PodList{}, append(which, from)...)
	if err != nil {
		v.cancel()
		return nil, err
	}
	go v.follow(ctx, watcher)
	return v, nil
}

func (v *quiescence) follow(ctx context.Context, watcher watch.Interface) {
	defer close(v.done)
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !open || !isPod {
				v.err = fmt.Errorf("the watch of the pods has ended: %v", event.Object)
				return
			}
			v.note(pod, event.Type == watch.Deleted)
			v.lowest = min(v.lowest, len(v.ready))
		}
	}
}

// note counts a pod if it is ready and not being deleted.
func (v *quiescence) note(pod *corev1.Pod, deleted bool) {
	if podReady(pod) && pod.DeletionTimestamp == nil && !deleted {
		v.ready[pod.UID] = true
	} else {
		delete(v.ready, pod.UID)
	}
}

// stop returns the lowest number of ready pods.
func (v *quiescence) stop() (int, error) {
	v.cancel()
	<-v.done
	return v.lowest, v.err
}
