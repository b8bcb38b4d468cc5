package kubelet

import (
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// books are kept of what the instances of all namespaces do with revisions of the configuration. Some
// things must never be asked of one: to load what another one of the same template has not accepted, could
// not load, or is comparing with what it served before, and to load what has ended a container of the same
// template, also if its pod is gone.
type books struct {
	mu         sync.Mutex
	namespaces map[string]*book
}

// book is that of a namespace.
type book struct {
	pods map[string]*entry
	// ended are the pods whose containers were ended by a revision.
	ended map[load]string
	// broken is what was asked of a pod that must not be.
	broken string
}

// load is that of a revision by pods of a template.
type load struct{ template, revision string }

// entry is that of a pod.
type entry struct {
	template string
	// early: it was there when the book was opened, so whoever asks pods knows of it.
	early            bool
	accepted, failed map[string]bool
	// compares is the revision whose first answers it compares.
	compares string
}

// of is the book of a namespace; b.mu is held.
func (b *books) of(namespace string) *book {
	if b.namespaces[namespace] == nil {
		b.namespaces[namespace] = &book{pods: map[string]*entry{}, ended: map[load]string{}}
	}
	return b.namespaces[namespace]
}

// pod is the entry of a pod; b.mu is held.
func (b *books) pod(key client.ObjectKey) *entry {
	pods := b.of(key.Namespace).pods
	if pods[key.Name] == nil {
		pods[key.Name] = &entry{accepted: map[string]bool{}, failed: map[string]bool{}}
	}
	return pods[key.Name]
}

// open begins to look.
func (b *books) open(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.of(namespace).pods {
		e.early = true
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

// Accepted notes that a pod has found a revision good.
func (b *books) Accepted(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).accepted[revision] = true
}

// Loads notes that a pod loads a revision.
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
		case other.early && !other.accepted[revision]:
			book.broken = fmt.Sprintf("pod %s was let load configuration %s, which pod %s has not accepted", key.Name, revision, name)
		}
	}
	if fails {
		own.failed[revision] = true
	}
}

// Compares notes that a pod compares the first answers of a revision.
func (b *books) Compares(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(key).compares = revision
}

// TakesBack notes that a pod has gone back from a revision.
func (b *books) TakesBack(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.pod(key)
	own.compares, own.failed[revision] = "", true
}

// Ends notes that a revision has ended the container of a pod.
func (b *books) Ends(key client.ObjectKey, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(key.Namespace).ended[load{b.pod(key).template, revision}] = key.Name
}
