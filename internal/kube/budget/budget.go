// Package budget bounds the memory of what the operator keeps, per namespace and in total, so that no namespace uses up what
// all share.
package budget

import (
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
}

// New returns a budget of a number of bytes per namespace, and in total.
func New(perNamespace, total int64) *Budget {
	return &Budget{perNamespace: perNamespace, total: total, namespaces: map[string]*account{}}
}

// PerNamespace returns the maximum of a namespace, in bytes.
func (b *Budget) PerNamespace() int64 { return b.perNamespace }

// Keep reports whether an item of a size may be kept. It replaces the size that the item had before. When the total is used up,
// a namespace may still keep its fair share: the total divided by the number of namespaces.
func (b *Budget) Keep(namespace string, item Item, size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.namespaces[namespace]
	if a == nil {
		a = &account{items: map[Item]int64{}, refused: map[Item]bool{}}
		b.namespaces[namespace] = a
	}
	b.remove(a, item)
	next := a.used + size
	if next > b.perNamespace || b.used+size > b.total && next > b.total/int64(len(b.namespaces)) {
		a.refused[item] = true
		return false
	}
	a.items[item] = size
	a.used, b.used = next, b.used+size
	return true
}

// Release forgets an item.
func (b *Budget) Release(namespace string, item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
