package api

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/test/standin/kubelet"
)

// startRenewing replaces the operator with one of the next release that renews pods. It is limited
// to the namespaces of apps, because the renewal of what other tests left behind would not end.
func startRenewing(t *testing.T, apps []*rolled, flags ...string) {
	t.Helper()
	flags = append(flags, "--renew-pods")
	for _, app := range apps {
		flags = append(flags, "--namespaces="+app.nginx.Namespace)
	}
	replaceOperator(func() *testOperator { return startNext(t, &atomic.Int64{}, flags...) })
}

// TestRenewPods: the applications get the pods of the next release one after the other.
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
				if r.OfOperator() && r.RollingOutOrFailed() {
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

// TestRenewalStopsAtTheFirstFailure: if the new pods of applications crash, only one application is
// tried and rolled back, and the other one is left alone.
func TestRenewalStopsAtTheFirstFailure(t *testing.T) {
	apps := []*rolled{newRolled(t, v1alpha2.NginxOperatorSpec{}), newRolled(t, v1alpha2.NginxOperatorSpec{})}
	startRenewing(t, apps, "--default-image="+kubelet.Crashes+":2")
	eventually(t, "one has failed", func() error {
		if len(failedRenewals(apps)) == 0 {
			return fmt.Errorf("none has")
		}
		return nil
	})
	for _, app := range apps {
		eventually(t, "its pods are as before, and the status reports the result", app.left)
	}
	settled(t)
	if names := failedRenewals(apps); len(names) != 1 {
		t.Errorf("after the first failure another one was tried: %v", names)
	}
	for _, app := range apps {
		if err := app.left(); err != nil {
			t.Errorf("%s: %v", app.nginx.Namespace, err)
		}
	}
}

// failedRenewals returns the namespaces of the applications whose renewal failed.
func failedRenewals(apps []*rolled) (namespaces []string) {
	for _, app := range apps {
		for _, r := range app.history() {
			if r.State == history.StateFailed {
				namespaces = append(namespaces, app.nginx.Namespace)
			}
		}
	}
	return namespaces
}

// left returns an error unless an application has its previous pods, and reports a rollback if it
// was tried.
func (r *rolled) left() error {
	template, err := r.pods()
	if err != nil {
		return err
	}
	if isNext(&template) {
		return fmt.Errorf("its pods are of the next release")
	}
	if err := get(r.t, r.nginx); err != nil {
		return err
	}
	want := v1alpha2.ReasonRolledOut
	if len(failedRenewals([]*rolled{r})) > 0 {
		want = v1alpha2.ReasonRolledBack
	}
	c := meta.FindStatusCondition(r.nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil {
		return fmt.Errorf("it has no such condition")
	}
	return same(c.Reason, want)
}
