package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// countWrites returns a configuration that counts the requests that change something: everything
// but reads and leases. It also records what fills a cache.
func countWrites(config *rest.Config, o *testOperator) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if query := r.URL.Query(); query.Get("sendInitialEvents") == "true" {
				o.noteCache(strings.Join([]string{r.URL.Path, query.Get("labelSelector"), query.Get("fieldSelector")}, " "))
			}
			if b := o.blindness.Load(); b != nil && b.concerns(r) {
				return b.roundTrip(next, r)
			}
			if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") {
				return next.RoundTrip(r)
			}
			o.writes.Add(1)
			o.note(r.Method + " " + r.URL.Path)
			if d := o.death.Load(); d != nil {
				return d.roundTrip(next, r)
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

// newNamespace creates a namespace for one test.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	return namespace.Name
}

var must = kubetest.Must

func asV1Alpha1(namespace, name string) *v1alpha1.NginxOperator {
	return &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// everyKind returns a spec that makes the operator create an object of every owned kind.
func everyKind() v1alpha2.NginxOperatorSpec {
	peer := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}}
	return v1alpha2.NginxOperatorSpec{
		Replicas:      new(int32(2)),
		NetworkPolicy: &v1alpha2.NetworkPolicy{IngressFrom: []networkingv1.NetworkPolicyPeer{peer}},
		Ingress:       &v1alpha2.Ingress{Hosts: []v1alpha2.IngressHost{{}}},
	}
}

func create(t *testing.T, namespace, name string, spec v1alpha2.NginxOperatorSpec) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	must(t, kube.Create(t.Context(), nginx))
	waitObserved(t, nginx)
	return nginx
}

// edit changes the spec and waits until it has been reconciled.
func edit(t *testing.T, nginx *v1alpha2.NginxOperator, change func(*v1alpha2.NginxOperatorSpec)) {
	t.Helper()
	eventually(t, "edit "+nginx.Name, func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		change(&nginx.Spec)
		return kube.Update(t.Context(), nginx)
	})
	waitObserved(t, nginx)
}

func waitObserved(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	eventually(t, nginx.Name+" is reconciled", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		return kubetest.Observed(nginx)
	})
}

func get(t *testing.T, obj client.Object) error {
	return kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	polling.Eventually(t, what, check)
}

var polling = kubetest.Poll{Interval: 20 * time.Millisecond, Timeout: patience, Abort: func() error {
	select {
	case <-running.ended:
		return fmt.Errorf("the operator has ended: %w", running.err)
	default:
		return nil
	}
}}

// waitCondition waits until a condition has a status and reason.
func waitCondition(t *testing.T, nginx *v1alpha2.NginxOperator, name string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s is %s (%s)", name, status, reason), func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		var err error
		found, err = kubetest.Condition(nginx, name, status, reason)
		return err
	})
	return found
}

// settled waits until the operator has written nothing for a while, and returns how much it has
// written since it started. A pause is the only way to detect that nothing follows, and it is long
// enough for many passes.
func settled(t *testing.T) int64 {
	t.Helper()
	last, since := running.writes.Load(), time.Now()
	deadline := time.Now().Add(patience)
	for time.Since(since) < time.Second {
		if time.Now().After(deadline) {
			t.Fatalf("the operator does not stop writing: %d writes", last)
		}
		time.Sleep(50 * time.Millisecond)
		if now := running.writes.Load(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// ownedObject reads the owned object of a kind, or returns nil if there is none. Of the two
// ConfigMaps, it reads the first one, the candidate, which is the requested configuration, whether or not a pod
// has served it.
func ownedObject(t *testing.T, nginx *v1alpha2.NginxOperator, kind string) owned.Object {
	t.Helper()
	for _, k := range desired.Kinds(application.KindDeployment) {
		if k.Name == kind {
			return live(t, nginx, k)
		}
	}
	t.Fatalf("there is no kind %s", kind)
	return nil
}

// live reads the object of an owned kind, or returns nil if there is none.
func live(t *testing.T, nginx *v1alpha2.NginxOperator, kind owned.Kind) owned.Object {
	t.Helper()
	obj := kind.New()
	err := kube.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: nginx.Namespace, Name: kind.ObjectName(nginx.Name)}, obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return obj
}
