package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/plugin/console/fleet"
)

// Order has the ways to sort a list, the default first.
type Order[T any] []Key[T]

// Key is a way to sort.
type Key[T any] struct {
	Name    string
	compare func(a, b *T) int
	// Traffic is true if it compares traffic.
	Traffic bool
}

// Names returns the ways to sort, as words of a sentence.
func (o Order[T]) Names() string {
	names := make([]string, 0, len(o))
	for _, k := range o {
		names = append(names, k.Name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Find returns the key of a name.
func (o Order[T]) Find(name string) (Key[T], error) {
	for _, k := range o {
		if k.Name == name {
			return k, nil
		}
	}
	return Key[T]{}, fmt.Errorf("--sort-by is %q: set it to %s", name, o.Names())
}

// Sort sorts a list. Items that are equal by the key stay in the order of their names.
func (k Key[T]) Sort(items []T, byName func(a, b *T) int) {
	slices.SortFunc(items, func(a, b T) int { return cmp.Or(k.compare(&a, &b), byName(&a, &b)) })
}

// most returns a comparison that has the largest value first.
func most[T any](value func(*T) float64) func(a, b *T) int {
	return func(a, b *T) int { return cmp.Compare(value(b), value(a)) }
}

// ListOrder has the ways to sort a list of applications.
var ListOrder = Order[Listed]{
	{Name: "state", compare: func(a, b *Listed) int { return cmp.Compare(rank(a), rank(b)) }},
	{Name: "name", compare: ListedByName},
	{Name: "age", compare: func(a, b *Listed) int {
		return b.Nginx.CreationTimestamp.Compare(a.Nginx.CreationTimestamp.Time)
	}},
	{Name: "requests", compare: most(func(l *Listed) float64 { return l.measured().RequestsPerSecond }), Traffic: true},
	{Name: "errors", compare: most(func(l *Listed) float64 { return l.measured().ErrorShare }), Traffic: true},
	{Name: "latency", compare: most(func(l *Listed) float64 { return l.measured().P99 }), Traffic: true},
}

// measured returns the traffic; what is not known comes after all that is.
func (l *Listed) measured() Traffic {
	if l.Traffic == nil || l.Traffic.Answering == 0 {
		return Traffic{RequestsPerSecond: -1, ErrorShare: -1, P99: -1}
	}
	return l.Traffic.Traffic
}

// ListedByName compares the names of applications.
func ListedByName(a, b *Listed) int {
	return cmp.Or(cmp.Compare(a.Nginx.Namespace, b.Nginx.Namespace), cmp.Compare(a.Nginx.Name, b.Nginx.Name))
}

// States are the states of applications, the most urgent first.
var States = []fleet.State{fleet.NotReady, fleet.Waiting, fleet.Progressing, fleet.Suspended, fleet.Ready}

func rank(l *Listed) int { return slices.Index(States, State(&l.Nginx)) }

// TopOrder has the ways to sort applications, pods and server blocks by what they do.
var TopOrder = Order[Load]{
	{Name: "requests", compare: most(func(l *Load) float64 { return l.Requests })},
	{Name: "errors", compare: most((*Load).ErrorShare)},
	{Name: "latency", compare: most(func(l *Load) float64 {
		if l.P99 == nil {
			return -1
		}
		return *l.P99
	})},
	{Name: "connections", compare: most(func(l *Load) float64 { return l.Connections })},
	{Name: "memory", compare: most(func(l *Load) float64 { return l.Memory })},
	{Name: "name", compare: LoadByName},
}

// LoadByName compares the names of what has a load.
func LoadByName(a, b *Load) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// ErrorShare returns the share of the requests that were answered with 5xx.
func (l Load) ErrorShare() float64 {
	if l.Requests == 0 {
		return 0
	}
	return l.Errors / l.Requests
}
