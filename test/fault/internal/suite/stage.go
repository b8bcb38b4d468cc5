package suite

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

// Stage is where cases are run: an API server with stand-ins for the rest of a cluster.
type Stage struct {
	// Dir is the folder for the operators' logs and kubeconfigs.
	Dir     string
	Program subject.Program
	// Next is a later release of the operator, to which journeys upgrade.
	Next subject.Program
	// Impatient returns the operator with shorter waits. It is called when a journey needs it; nil: no journey may.
	Impatient func() (subject.Program, error)
	Pods      Pods
	// Begin prepares a namespace for a journey; nil: there is nothing to prepare.
	Begin func(j *journey.Journey, namespace string) error
	// Texts are the texts that journeys refer to by name, such as certificates.
	Texts map[string]string
	// RealInstances runs cases with real instances; nil: there are none.
	Real *RealInstances
	// Prefix is the prefix of the names of its namespaces.
	Prefix string
	// Patience bounds the wait for something that has to happen. It does not measure speed.
	Patience time.Duration
	// Means matches the paths that show how a state was reached, and that are not part of the
	// state.
	Means *regexp.Regexp

	proxy   *proxy.Proxy
	client  client.Client
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	taker   *snapshot.Taker
	cases   atomic.Int64

	keptMu sync.Mutex
	// kept are the namespaces with the ends of cases for the quiescence check, by the arguments of
	// their operators. room bounds their number.
	kept map[string][]string
	room int

	// journeys are the journeys by name.
	journeys map[string]*journey.Journey
}

// program returns the operator of a release.
func (s *Stage) program(of journey.Release) (subject.Program, error) {
	switch {
	case of == journey.Next:
		return s.Next, nil
	case of == journey.Impatient && s.Impatient == nil:
		return subject.Program{}, errors.New("there is no operator with shorter waits")
	case of == journey.Impatient:
		return s.Impatient()
	}
	return s.Program, nil
}

// Pods runs the pods.
type Pods interface {
	// Expect starts to count the ready pods of a namespace. Fewest returns the smallest number
	// since.
	Expect(namespace string)
	Fewest(namespace string) int
	// Busy reports whether pods of a namespace are about to start or to end.
	Busy(namespace string) bool
	// Served returns what each ready pod of a namespace serves. Broken describes a request since
	// Expect that a pod must not get; empty: there was none.
	Served(namespace string) []string
	Broken(namespace string) string
	// Disturb wraps the instances that start in a namespace from now on.
	Disturb(namespace string, by func(pod string, answer http.Handler) http.Handler)
	// Forget ends the pods of a namespace.
	Forget(namespace string) error
}

// NewStage creates a stage of a control plane.
func NewStage(ctx context.Context, config *rest.Config, c client.Client) (*Stage, error) {
	s := &Stage{client: c, Prefix: "case", Patience: patience, room: mostKept}
	config = rest.CopyConfig(config)
	// Ignore the warnings of the API server, for example for an old API version: journeys use such
	// versions on purpose.
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

// Draw sets the pattern of the objects, as kind/name, whose names differ between runs. The group that
// matches is the part of the name that stays the same.
func (s *Stage) Draw(names *regexp.Regexp) { s.taker.Drawn = names }

// Close ends the proxy.
func (s *Stage) Close() error { return s.proxy.Close() }

// newNamespace creates a namespace for a case, with the pod security profile that applications run
// under.
func (s *Stage) newNamespace(ctx context.Context) (string, error) {
	name := fmt.Sprintf("%s-%d", s.Prefix, s.cases.Add(1))
	return name, s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
}

// resource returns the client for a kind.
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

// groups are the API groups in which kinds without a group are searched.
var groups = []string{"operator.example.com", "backup.operator.example.com", "cache.operator.example.com", "apps", "", "policy", "networking.k8s.io", "gateway.networking.k8s.io", "cert-manager.io", "batch", "autoscaling", "node.k8s.io"}

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

// errDied means that the operator has ended without being killed.
var errDied = errors.New("the operator ended by itself")
