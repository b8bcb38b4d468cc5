// Package budget bounds the memory of what the operator keeps, per namespace and in total, so that no namespace uses up what
// all share.
//
// A namespace may have more only while it has less than a share of what is free. The share gives the first namespace its
// maximum, and there is always room for another one: this is the dynamic threshold of Choudhury and Hahne for shared buffers
// (IEEE/ACM Transactions on Networking 6(2), 1998).
package budget

import (
	"iter"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Item identifies something in a namespace.
type Item struct {
	Kind string
	UID  types.UID
}

// Budget counts the bytes of items by namespace. It is safe for concurrent use.
type Budget struct {
	// perNamespace and total are the maximum sizes, in bytes.
	perNamespace, total int64

	mu         sync.Mutex
	used       int64
	namespaces map[string]*account
}

// account has the items of a namespace.
type account struct {
	used int64
	// items are the sizes of the items that are kept; refused are those that are not.
	items   map[Item]int64
	refused map[Item]bool
	// versions are those of both, if they have one.
	versions map[Item]string
}

// New returns a budget of a number of bytes per namespace, and in total.
func New(perNamespace, total int64) *Budget {
	return &Budget{perNamespace: perNamespace, total: total, namespaces: map[string]*account{}}
}

// PerNamespace returns the maximum of a namespace, in bytes.
func (b *Budget) PerNamespace() int64 { return b.perNamespace }

// Excess is why an item is not kept.
type Excess string

// The reasons. Their zero value says that an item is kept.
const (
	// OfNamespace: its namespace has its maximum.
	OfNamespace Excess = "OfNamespace"
	// OfAll: other namespaces leave too little.
	OfAll Excess = "OfAll"
)

// Keep keeps an item of a size, or says why not. It replaces the size that the item had before. An item that does not grow is
// kept.
func (b *Budget) Keep(namespace string, item Item, size int64) Excess {
	return b.KeepVersion(namespace, item, "", size)
}

// KeepVersion is Keep for a version of an item, which ReleaseVersion releases.
func (b *Budget) KeepVersion(namespace string, item Item, version string, size int64) Excess {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.namespaces[namespace]
	if a == nil {
		a = &account{items: map[Item]int64{}, refused: map[Item]bool{}, versions: map[Item]string{}}
		b.namespaces[namespace] = a
	}
	before := a.items[item]
	b.remove(a, item)
	if version != "" {
		a.versions[item] = version
	}
	if excess := b.excess(a, size); excess != "" && size > before {
		a.refused[item] = true
		return excess
	}
	a.items[item] = size
	a.used, b.used = a.used+size, b.used+size
	return ""
}

// excess says why a namespace may not have another item of a size; empty: it may.
func (b *Budget) excess(a *account, size int64) Excess {
	next, free := a.used+size, b.total-b.used-size
	switch {
	case next > b.perNamespace:
		return OfNamespace
	case next*(b.total-b.perNamespace) > free*b.perNamespace:
		return OfAll
	}
	return ""
}

// Release forgets an item.
func (b *Budget) Release(namespace string, item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(namespace, item)
}

// ReleaseVersion forgets an item, unless another version of it was kept or refused since.
func (b *Budget) ReleaseVersion(namespace string, item Item, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.namespaces[namespace]; a != nil && a.versions[item] == version {
		b.release(namespace, item)
	}
}

// ReleaseKind forgets all items of a kind.
func (b *Budget) ReleaseKind(kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for namespace, a := range b.namespaces {
		for _, items := range []iter.Seq[Item]{maps.Keys(a.items), maps.Keys(a.refused)} {
			for item := range items {
				if item.Kind == kind {
					b.release(namespace, item)
				}
			}
		}
	}
}

func (b *Budget) release(namespace string, item Item) {
	a := b.namespaces[namespace]
	if a == nil {
		return
	}
	if b.remove(a, item); len(a.items) == 0 && len(a.refused) == 0 {
		delete(b.namespaces, namespace)
	}
}

func (b *Budget) remove(a *account, item Item) {
	size := a.items[item]
	a.used, b.used = a.used-size, b.used-size
	delete(a.items, item)
	delete(a.refused, item)
	delete(a.versions, item)
}

// Refused returns the number of items of a namespace that are not kept.
func (b *Budget) Refused(namespace string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.namespaces[namespace]; a != nil {
		return len(a.refused)
	}
	return 0
}

// Used returns the size of the kept items, in bytes.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
