package campaign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
	"example.com/nginx-operator/test/fault/internal/subject"
)

// Stage is where cases are played: an API server with what stands in for the rest of a cluster.
type Stage struct {
	// Dir takes the logs of the operators.
	Dir     string
	Program subject.Program
	// Next is another release of the operator, to which journeys upgrade.
	Next subject.Program
	Pods Pods
	// Begin prepares a namespace for a journey; nil: there is nothing to prepare.
	Begin func(j *journey.Journey, namespace string) error
	// Texts are what journeys have by their names, such as certificates.
	Texts map[string]string
	// Real is where cases with real instances are played; nil: nowhere.
	Real *Real
	// Prefix begins the names of its namespaces.
	Prefix string
	// Patience is how long something may take that has to come. It is no measure of speed.
	Patience time.Duration
	// Means are the paths of fields that tell how an end was reached, and are no part of it.
	Means *regexp.Regexp

	proxy   *proxy.Proxy
	client  client.Client
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	taker   *snapshot.Taker
	cases   atomic.Int64

	keptMu sync.Mutex
	// kept are the namespaces with the ends of cases for the vigil, as long as there is room, by the arguments of those who
	// looked after them.
	kept map[string][]string
	room int

	// journeys by their names.
	journeys map[string]*journey.Journey
}

// Pods is what runs the pods.
type Pods interface {
	// Expect begins to look how many pods of a namespace are ready, and Fewest is the smallest number
	// since.
	Expect(namespace string)
	Fewest(namespace string) int
	// Busy tells whether pods of a namespace are about to start or to end.
	Busy(namespace string) bool
	// Served is what each ready pod of a namespace serves, and Broken what one was told since Expect
	// that it must not be told; empty: nothing.
	Served(namespace string) []string
	Broken(namespace string) string
	// Disturb puts handlers before the instances that are started in a namespace from now on.
	Disturb(namespace string, by func(pod string, answer http.Handler) http.Handler)
	// Forget ends what runs in a namespace.
	Forget(namespace string) error
}

// NewStage makes a stage of a control plane.
func NewStage(ctx context.Context, config *rest.Config, c client.Client) (*Stage, error) {
	s := &Stage{client: c, Prefix: "case", Patience: patience, room: mostKept}
	config = rest.CopyConfig(config)
	// What a user is warned of, such as an old version of the API, is what the journey is about.
	config.WarningHandler = rest.NoWarnings{}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	if s.taker, err = snapshot.NewTaker(d, s.dynamic); err != nil {
		return nil, err
	}
	s.proxy, err = proxy.Start(ctx, config)
	return s, err
}

// Draw tells of which objects the names are others each time, as kinds and names. What the first group
// of the expression finds is what stays of them.
func (s *Stage) Draw(names *regexp.Regexp) { s.taker.Drawn = names }

// Close ends the proxy.
func (s *Stage) Close() error { return s.proxy.Close() }

// newNamespace makes a namespace for a case, under the profile that applications run under.
func (s *Stage) newNamespace(ctx context.Context) (string, error) {
	name := fmt.Sprintf("%s-%d", s.Prefix, s.cases.Add(1))
	return name, s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
}

// resource finds an object's client.
func (s *Stage) resource(namespace string, kind, version string) (dynamic.ResourceInterface, error) {
	group, err := s.kind(kind, version)
	if err != nil {
		return nil, err
	}
	mapping, err := s.mapper.RESTMapping(group.GroupKind(), group.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.dynamic.Resource(mapping.Resource), nil
	}
	return s.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// groups are where kinds are looked for, that are named without one.
var groups = []string{"operator.example.com", "backup.operator.example.com", "apps", "", "policy", "batch", "autoscaling", "node.k8s.io"}

func (s *Stage) kind(kind, version string) (schema.GroupVersionKind, error) {
	for _, group := range groups {
		var versions []string
		if version != "" {
			versions = []string{version}
		}
		mapping, err := s.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, versions...)
		if err == nil {
			return mapping.GroupVersionKind, nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("there is no kind %s %s", kind, version)
}

// get reads an object; nil: there is none.
func (s *Stage) get(ctx context.Context, namespace string, o journey.Object) (*unstructured.Unstructured, error) {
	r, err := s.resource(namespace, o.Kind, o.Version)
	if err != nil {
		return nil, err
	}
	found, err := r.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// errDied tells that the operator has ended by itself.
var errDied = errors.New("the operator has ended by itself")
