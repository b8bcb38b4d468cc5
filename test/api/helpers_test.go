package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/observe"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// countWrites counts what changes something in the cluster: everything but reads,
// leases and reviews of access. It also notes what a cache is filled with.
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

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	return namespace.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func asV1Alpha1(namespace, name string) *v1alpha1.NginxOperator {
	return &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// create creates an NginxOperator and waits until it has been reconciled.
func create(t *testing.T, namespace, name string, spec v1alpha2.NginxOperatorSpec) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	must(t, kube.Create(t.Context(), nginx))
	waitObserved(t, nginx)
	return nginx
}

// edit changes the spec and waits until that has been reconciled.
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
		if nginx.Status.ObservedGeneration != nginx.Generation {
			return fmt.Errorf("generation %d of %d is observed", nginx.Status.ObservedGeneration, nginx.Generation)
		}
		return nil
	})
}

func get(t *testing.T, obj client.Object) error {
	return kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-running.ended:
			t.Fatalf("%s: the operator has ended: %v", what, running.err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// waitCondition waits until a condition has a status and reason.
func waitCondition(t *testing.T, nginx *v1alpha2.NginxOperator, name string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s is %s (%s)", name, status, reason), func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		c := meta.FindStatusCondition(nginx.Status.Conditions, name)
		if c == nil {
			return fmt.Errorf("there is no such condition")
		}
		if c.Status != status || c.Reason != reason || c.ObservedGeneration != nginx.Generation {
			return fmt.Errorf("it is %s (%s) of generation %d: %s", c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
		found = *c
		return nil
	})
	return found
}

// settled waits until the operator has written nothing for a while and returns how
// much it has written since it started. A pause is the only way to see that
// nothing follows; it is long enough for many passes.
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

// owned reads the object of a kind, nil when there is none. Of the two ConfigMaps it
// is the candidate: what is asked for, whether a pod has served it or not.
func owned(t *testing.T, nginx *v1alpha2.NginxOperator, kind string) observe.Object {
	t.Helper()
	for _, k := range slices.Backward(desired.Kinds()) {
		if k.Name == kind {
			return live(t, nginx, k)
		}
	}
	t.Fatalf("there is no kind %s", kind)
	return nil
}

// live reads the object of a row of the table, nil when there is none.
func live(t *testing.T, nginx *v1alpha2.NginxOperator, kind desired.Kind) observe.Object {
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
