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
	// purges are the numbers of purges by their owners, and lastPurge is the greatest one.
	purges    map[string]int64
	lastPurge int64
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
	// loaded is when the pod loaded a revision, and followed the revisions that it loaded without an order.
	loaded   map[string]time.Time
	followed map[string]bool
	// compares is the revision whose first answers the pod compares.
	compares string
}

// of returns the book of a namespace. The caller holds b.mu.
func (b *books) of(namespace string) *book {
	if b.namespaces[namespace] == nil {
		b.namespaces[namespace] = &book{pods: map[string]*entry{}, ended: map[load]string{}, purges: map[string]int64{}}
	}
	return b.namespaces[namespace]
}

// pod returns the entry of a pod. The caller holds b.mu.
func (b *books) pod(key client.ObjectKey) *entry {
	pods := b.of(key.Namespace).pods
	if pods[key.Name] == nil {
		pods[key.Name] = &entry{accepted: map[string]bool{}, failed: map[string]bool{}, loaded: map[string]time.Time{}, followed: map[string]bool{}}
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
	return e.early && !e.accepted[revision] && !e.silent()
}

// silent reports whether the pod has been silent, or has taken no orders, for long.
func (e *entry) silent() bool {
	return time.Since(e.answered) >= unreachable || !e.refused.IsZero() && time.Since(e.refused) >= unreachable
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

// Boots records that a pod has booted with a revision.
func (b *books) Boots(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pod := b.pod(key)
	pod.accepted[revision], pod.loaded[revision] = true, time.Now()
}

// Accepted records that a pod has accepted a revision.
func (b *books) Accepted(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).accepted[revision] = true
}

// followerProves is how long the first pod that follows has to serve a revision before the others may follow, if no pod
// can be reached. The operator waits longer, even where journeys shorten its waits.
const followerProves = 5 * time.Second

// Follows records that a pod loads a revision without an order. It must be out of reach, and another pod must have served
// the revision, unless it is the first one.
func (b *books) Follows(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	book, own := b.of(key.Namespace), b.pod(key)
	own.followed[revision] = true
	if !own.early || book.broken != "" {
		return
	}
	if !own.silent() {
		book.broken = fmt.Sprintf("pod %s was let follow configuration %s, although it could be reached", key.Name, revision)
		return
	}
	if first, at := book.firstLoaded(revision); first != "" && time.Since(at) < followerProves && !book.ordered(revision) {
		book.broken = fmt.Sprintf("pod %s was let follow configuration %s %s after pod %s, the first one", key.Name, revision, time.Since(at).Round(time.Millisecond), first)
	}
}

// firstLoaded returns the pod that loaded a revision first; empty if none did.
func (b *book) firstLoaded(revision string) (first string, at time.Time) {
	for name, e := range b.pods {
		if loaded, ok := e.loaded[revision]; ok && (first == "" || loaded.Before(at)) {
			first, at = name, loaded
		}
	}
	return first, at
}

// ordered reports whether a pod has loaded a revision that it was ordered to, or has booted with it.
func (b *book) ordered(revision string) bool {
	for _, e := range b.pods {
		if _, loaded := e.loaded[revision]; loaded && !e.followed[revision] {
			return true
		}
	}
	return false
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
		return
	}
	own.loaded[revision] = time.Now()
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
