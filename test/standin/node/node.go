// Package node runs the pods of a bare control plane as the kubelet of a node does: with the real
// instance manager and real nginx, in containers. It binds the pods to itself, mounts their volumes
// and keeps them up to date, probes the pods, restarts their containers, and lets them drain when
// they are deleted.
//
// It creates no Node object, runs no init containers (the instance manager is already there), and runs
// no liveness probes.
package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/standin/census"
)

// Options configure a Node.
type Options struct {
	// Dir is the directory for the pods' volumes and logs.
	Dir string
	// Images holds the root file systems and the instance manager.
	Images *Images
	// Mine reports whether the node runs the pods of a namespace.
	Mine func(namespace string) bool
}

// Node runs pods.
type Node struct {
	Options
	census.Census

	client client.Client
	cache  cache.Cache
	all    sync.WaitGroup

	mu     sync.Mutex
	spaces map[string]*space
}

// space is the state of a namespace.
type space struct {
	pods    map[types.UID]*pod
	disturb func(pod string, answer http.Handler) http.Handler
	// late is the delay between a change of a pod's annotations and that of its volumes.
	late    time.Duration
	traffic traffic
	// over is set when no more pods are started.
	over bool
}

// Start runs pods until the context ends.
func Start(ctx context.Context, config *rest.Config, o Options) (*Node, error) {
	n := &Node{Options: o, spaces: map[string]*space{}}
	var err error
	if n.client, err = client.New(config, client.Options{}); err != nil {
		return nil, err
	}
	if n.cache, err = cache.New(config, cache.Options{}); err != nil {
		return nil, err
	}
	for _, mounted := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
		if _, err := n.cache.GetInformer(ctx, mounted); err != nil {
			return nil, err
		}
	}
	pods, err := n.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	if _, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { n.see(ctx, pod, false) },
		UpdateFunc: func(_, pod any) { n.see(ctx, pod, false) },
		DeleteFunc: func(pod any) { n.see(ctx, pod, true) },
	}); err != nil {
		return nil, err
	}
	go func() { _ = n.cache.Start(ctx) }() // it fails only if it was started before
	if !n.cache.WaitForCacheSync(ctx) {
		return nil, errors.New("the node sees no pods")
	}
	return n, nil
}

// Wait returns when the context of Start is done and all pods have ended.
func (n *Node) Wait() { n.all.Wait() }

// space returns the state of a namespace. The caller holds the lock.
func (n *Node) space(namespace string) *space {
	if n.spaces[namespace] == nil {
		n.spaces[namespace] = &space{pods: map[types.UID]*pod{}}
	}
	return n.spaces[namespace]
}

// see records the state of a pod.
func (n *Node) see(ctx context.Context, object any, gone bool) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	seen, ok := object.(*corev1.Pod)
	if !ok || seen.Labels[v1alpha2.LabelNginxOperator] == "" || !n.Mine(seen.Namespace) {
		return
	}
	n.See(seen, gone)
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.space(seen.Namespace)
	p := s.pods[seen.UID]
	switch {
	case p == nil && !gone && !s.over:
		s.pods[seen.UID] = n.begin(ctx, seen, s)
	case p == nil:
	case gone:
		p.cancel()
	default:
		p.wake()
	}
}

// begin starts to run a pod.
func (n *Node) begin(ctx context.Context, seen *corev1.Pod, s *space) *pod {
	p := &pod{
		node: n, space: s, key: client.ObjectKeyFromObject(seen), uid: seen.UID,
		dir: filepath.Join(n.Dir, seen.Namespace, seen.Name), changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	n.all.Go(func() {
		defer close(p.done)
		defer cancel()
		if err := p.live(ctx, seen); err != nil && ctx.Err() == nil {
			p.failed = fmt.Errorf("pod %s: %w", p.key, err)
		}
	})
	return p
}

// Disturb wraps the handlers of the instances that start in a namespace from now on.
func (n *Node) Disturb(namespace string, by func(pod string, answer http.Handler) http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.space(namespace).disturb = by
}

// Delay delays the changes of mounted volumes in a namespace from now on.
func (n *Node) Delay(namespace string, late time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.space(namespace).late = late
}

// delay returns the delay of volume changes.
func (n *Node) delay(s *space) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return s.late
}

// disturbed returns the handler of a pod, wrapped if the namespace is disturbed.
func (n *Node) disturbed(s *space, pod string, answer http.Handler) http.Handler {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.disturb == nil {
		return answer
	}
	return s.disturb(pod, answer)
}

// pods returns the pods of a namespace.
func (n *Node) pods(namespace string) []*pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*pod
	for _, p := range n.space(namespace).pods {
		all = append(all, p)
	}
	return all
}

// Busy reports whether pods of a namespace are starting or ending.
func (n *Node) Busy(namespace string) bool {
	for _, p := range n.pods(namespace) {
		select {
		case <-p.done:
		default:
			if !p.isReady() {
				return true
			}
		}
	}
	return false
}

// Served returns nothing: the real instances do not report what they serve here, so ask nginx (see
// Answers).
func (n *Node) Served(string) []string { return nil }

// Broken returns nothing: the real instances do not report loads that they must not have been
// requested to make.
func (n *Node) Broken(string) string { return "" }

// Forget ends the pods of a namespace, leaves their objects as they are, and returns the errors of
// this node that made a pod fail.
func (n *Node) Forget(namespace string) error {
	n.mu.Lock()
	n.space(namespace).over = true
	n.mu.Unlock()
	var errs []error
	for _, p := range n.pods(namespace) {
		p.cancel()
		<-p.done
		errs = append(errs, p.failed)
	}
	n.Census.Forget(namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	// Events of the namespace that arrive from now on are too late.
	n.spaces[namespace] = &space{over: true}
	return errors.Join(errs...)
}
