package api

import (
	"fmt"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
)

// startRenewing replaces the operator by one of the next release that renews the pods of
// applications: what other tests left behind would not end its turn.
func startRenewing(t *testing.T, apps []*rolled, flags ...string) {
	t.Helper()
	restoreAtEnd(t)
	flags = append(flags, "--renew-pods")
	for _, app := range apps {
		flags = append(flags, "--namespaces="+app.nginx.Namespace)
	}
	replaceOperator(func() *testOperator { return startNext(t, &atomic.Int64{}, flags...) })
}

// TestRenewPods: one application after the other gets the pods of the next release.
func TestRenewPods(t *testing.T) {
	apps := []*rolled{
		newRolled(t, v1alpha2.NginxOperatorSpec{}),
		newRolled(t, v1alpha2.NginxOperatorSpec{Image: new("nginx:mine"), Replicas: new(int32(2))}),
	}
	startRenewing(t, apps)
	eventually(t, "all are renewed", func() error {
		underWay := 0
		for _, app := range apps {
			for _, r := range app.history() {
				if r.OfOperator() && r.Unsettled() {
					underWay++
				}
			}
		}
		if underWay > 1 {
			t.Fatalf("%d are being renewed at the same time", underWay)
		}
		for _, app := range apps {
			if template, err := app.pods(); err != nil || !isNext(&template) {
				return fmt.Errorf("%s is not (%w)", app.nginx.Namespace, err)
			}
		}
		return nil
	})
	for _, app := range apps {
		app.waitReady()
	}
}

// TestRenewalStopsAtTheFirstFailure: of two applications whose new pods crash one is tried,
// and goes back; the other one is left alone.
func TestRenewalStopsAtTheFirstFailure(t *testing.T) {
	apps := []*rolled{newRolled(t, v1alpha2.NginxOperatorSpec{}), newRolled(t, v1alpha2.NginxOperatorSpec{})}
	startRenewing(t, apps, "--default-image="+crashes+":2")
	failed := func() (names []string) {
		for _, app := range apps {
			for _, r := range app.history() {
				if r.State == history.Failed {
					names = append(names, app.nginx.Namespace)
				}
			}
		}
		return names
	}
	eventually(t, "one has failed", func() error {
		if len(failed()) == 0 {
			return fmt.Errorf("none has")
		}
		return nil
	})
	for _, app := range apps {
		want := metav1.ConditionTrue
		if app.nginx.Namespace == failed()[0] {
			want = metav1.ConditionFalse
		}
		eventually(t, "its pods are as before", func() error {
			template, err := app.pods()
			if err == nil && isNext(&template) {
				err = fmt.Errorf("they are of the next release")
			}
			return err
		})
		eventually(t, "it tells", func() error {
			must(t, get(t, app.nginx))
			for _, c := range app.nginx.Status.Conditions {
				if c.Type == v1alpha2.ConditionUpToDate {
					return same(c.Status, want)
				}
			}
			return fmt.Errorf("it has no such condition")
		})
	}
	settled(t)
	if names := failed(); len(names) != 1 {
		t.Errorf("after the first failure another one was tried: %v", names)
	}
}
