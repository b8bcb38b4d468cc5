// Package census counts the ready pods of each namespace.
package census

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/observe"
)

// Census counts ready pods. It is safe for concurrent use, and the zero value is an empty census.
type Census struct {
	mu sync.Mutex
	// ready holds the names of a namespace's ready pods, and fewest the smallest number of them
	// since Expect.
	ready  map[string]map[string]bool
	fewest map[string]int
}

// See records the state of a pod.
func (c *Census) See(pod *corev1.Pod, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready == nil {
		c.ready, c.fewest = map[string]map[string]bool{}, map[string]int{}
	}
	if c.ready[pod.Namespace] == nil {
		c.ready[pod.Namespace] = map[string]bool{}
	}
	ready := c.ready[pod.Namespace]
	delete(ready, pod.Name)
	if !gone && observe.Ready(pod) {
		ready[pod.Name] = true
	}
	if fewest, expected := c.fewest[pod.Namespace]; expected {
		c.fewest[pod.Namespace] = min(fewest, len(ready))
	}
}

// Expect starts to record the smallest number of ready pods of a namespace.
func (c *Census) Expect(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fewest == nil {
		c.ready, c.fewest = map[string]map[string]bool{}, map[string]int{}
	}
	c.fewest[namespace] = len(c.ready[namespace])
}

// Fewest returns the smallest number of ready pods of a namespace since Expect.
func (c *Census) Fewest(namespace string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fewest[namespace]
}

// Ready returns the names of the ready pods of a namespace.
func (c *Census) Ready(namespace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.ready[namespace]))
}

// Forget removes a namespace from the census.
func (c *Census) Forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ready, namespace)
	delete(c.fewest, namespace)
}
