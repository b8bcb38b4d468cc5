package kubelet

import (
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// books records what the instances of all namespaces do with configuration revisions. An operator
// must never let an instance load a revision that another instance of the same template has not
// accepted (unless that one is silent or takes no orders for long), could not load, or is comparing with what it served
// before, nor a revision that has ended a container of the same template, even if that pod is gone.
type books struct {
	mu         sync.Mutex
	namespaces map[string]*book
}

// book is the record of a namespace.
type book struct {
	pods map[string]*entry
	// ended holds the name of the pod whose container a load ended.
	ended map[load]string
	// broken describes the first violation.
	broken string
}

// load is the load of a revision by pods of a template.
type load struct{ template, revision string }

// entry is the record of a pod.
type entry struct {
	template string
	// early is set if the pod existed when the book was opened, so the operator knows of it.
	early            bool
	accepted, failed map[string]bool
	// answered is when a client last got the pod's status, and refused since when it takes no orders; zero: it takes them.
	answered, refused time.Time
	// compares is the revision whose first answers the pod compares.
	compares string
}

// of returns the book of a namespace. The caller holds b.mu.
func (b *books) of(namespace string) *book {
	if b.namespaces[namespace] == nil {
		b.namespaces[namespace] = &book{pods: map[string]*entry{}, ended: map[load]string{}}
	}
	return b.namespaces[namespace]
}

// pod returns the entry of a pod. The caller holds b.mu.
func (b *books) pod(key client.ObjectKey) *entry {
	pods := b.of(key.Namespace).pods
	if pods[key.Name] == nil {
		pods[key.Name] = &entry{accepted: map[string]bool{}, failed: map[string]bool{}}
	}
	return pods[key.Name]
}

// open starts the checks of a namespace.
func (b *books) open(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.of(namespace).pods {
		e.early, e.answered = true, time.Now()
	}
}

func (b *books) enter(key client.ObjectKey, template string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).template = template
}

func (b *books) leave(key client.ObjectKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of(key.Namespace).pods, key.Name)
}

func (b *books) forget(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.namespaces, namespace)
}

func (b *books) broken(namespace string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(namespace).broken
}

// mustAccept reports whether no other pod may load a revision, because this one has not accepted it.
func (e *entry) mustAccept(revision string) bool {
	silent := time.Since(e.answered) >= unreachable || !e.refused.IsZero() && time.Since(e.refused) >= unreachable
	return e.early && !e.accepted[revision] && !silent
}

// unreachable is how long a pod has to be silent, or to take no orders, before the others may go on without it. The
// operator waits longer.
const unreachable = 20 * time.Second

// Answered records a query or an order to a pod, and whether the client got the status.
func (b *books) Answered(key client.ObjectKey, order, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pod := b.pod(key)
	switch {
	case ok:
		pod.answered = time.Now()
		if order {
			pod.refused = time.Time{}
		}
	case order && pod.refused.IsZero():
		pod.refused = time.Now()
	}
}

// Accepted records that a pod has accepted a revision.
func (b *books) Accepted(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).accepted[revision] = true
}

// Loads records that a pod loads a revision.
func (b *books) Loads(key client.ObjectKey, revision string, fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	book, own := b.of(key.Namespace), b.pod(key)
	if name := book.ended[load{own.template, revision}]; name != "" && book.broken == "" {
		book.broken = fmt.Sprintf("pod %s was let load configuration %s, which has ended the container of pod %s", key.Name, revision, name)
	}
	for name, other := range book.pods {
		switch {
		case name == key.Name || other.template != own.template || book.broken != "":
		case other.failed[revision]:
			book.broken = fmt.Sprintf("pod %s was let load configuration %s, which pod %s could not load", key.Name, revision, name)
		case other.compares == revision:
			book.broken = fmt.Sprintf("pod %s was let load configuration %s, while pod %s compared its first answers", key.Name, revision, name)
		case other.mustAccept(revision):
			book.broken = fmt.Sprintf("pod %s was let load configuration %s, which pod %s has not accepted", key.Name, revision, name)
		}
	}
	if fails {
		own.failed[revision] = true
	}
}

// Compares records that a pod compares the first answers of a revision.
func (b *books) Compares(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).compares = revision
}

// TakesBack records that a pod has rolled back a revision.
func (b *books) TakesBack(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.pod(key)
	own.compares, own.failed[revision] = "", true
}

// Ends records that a revision has ended the container of a pod.
func (b *books) Ends(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(key.Namespace).ended[load{b.pod(key).template, revision}] = key.Name
}
