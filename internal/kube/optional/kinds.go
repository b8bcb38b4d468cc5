// Package optional has the kinds that a cluster may lack, because their CustomResourceDefinitions are not installed. A
// kind gets a cache when the API server serves it, and loses the cache when it does not any more. Nothing is polled as
// long as the definition can be watched.
package optional

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/owned"
)

// Options say what is cached.
type Options struct {
	Config     *rest.Config
	HTTPClient *http.Client
	Scheme     *runtime.Scheme
	Mapper     meta.RESTMapper
	// Namespaces are those that may be read; none: all.
	Namespaces []string
	// WatchDefinitions watches the CustomResourceDefinitions, which needs a cluster-wide permission for each by its name.
	// Without it, an absent kind is looked for from time to time as soon as an owner declares it.
	WatchDefinitions bool
	// Selector selects the objects that are cached.
	Selector labels.Selector
	// Index finds the objects of an application: the name of the field, and its values.
	Index       string
	IndexValues client.IndexerFunc
	// Content bounds what is cached of a kind: the transformation of its objects, and what these may take.
	Content func(kind owned.Kind) (toolscache.TransformFunc, cachedcontent.Allowance)
	// Listed returns the transformation of what is read past the cache, with a budget of its own.
	Listed func(kind owned.Kind) toolscache.TransformFunc
	// WatchErrors handles failed lists and watches.
	WatchErrors toolscache.WatchErrorHandlerWithContext
}

// Kinds are kinds that the cluster may lack.
type Kinds struct {
	all map[schema.GroupVersionKind]*kind

	mu sync.Mutex
	// onObject are called with each object that has changed, onChange when a kind becomes available or absent.
	onObject []func(client.Object)
	onChange []func()
}

// New returns kinds that are looked for once Start runs.
func New(options Options, kinds ...owned.Kind) (*Kinds, error) {
	queries, err := discovery.NewDiscoveryClientForConfigAndClient(options.Config, options.HTTPClient)
	if err != nil {
		return nil, err
	}
	k := &Kinds{all: map[schema.GroupVersionKind]*kind{}}
	for _, of := range kinds {
		k.all[of.GVK] = &kind{
			Kind: of, options: options, discovery: queries,
			definition: definition{changed: make(chan struct{}, 1)},
			unserved:   make(chan struct{}, 1),
			wanted:     make(chan struct{}), decided: make(chan struct{}),
			notify: k.changed, seen: k.seen,
		}
	}
	return k, nil
}

// NeedLeaderElection returns false, so that the caches of a waiting replica are filled, like others.
func (*Kinds) NeedLeaderElection() bool { return false }

// Start looks for the kinds until ctx is done.
func (k *Kinds) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for _, of := range k.all {
		running.Go(func() { of.run(ctx) })
	}
	running.Wait()
	return nil
}

// Availability returns whether a kind can be read and written.
func (k *Kinds) Availability(of owned.Kind) owned.Availability {
	state, _ := k.all[of.GVK].get()
	return state
}

// Want makes an absent kind be looked for where its definition is not watched.
func (k *Kinds) Want(of owned.Kind) { k.all[of.GVK].want() }

// WaitForSync waits until it is known of each kind whether it is served, and the caches are filled.
func (k *Kinds) WaitForSync(ctx context.Context) error {
	for _, of := range k.all {
		select {
		case <-of.decided:
		case <-ctx.Done():
			return fmt.Errorf("look for %s: %w", of.Name, ctx.Err())
		}
	}
	return nil
}

// Subscribe registers what is called with each object that has changed, and when a kind has become available or absent.
func (k *Kinds) Subscribe(onObject func(client.Object), onChange func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.onObject, k.onChange = append(k.onObject, onObject), append(k.onChange, onChange)
}

func (k *Kinds) changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, call := range k.onChange {
		call()
	}
}

func (k *Kinds) seen(object client.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, call := range k.onObject {
		call(object)
	}
}
