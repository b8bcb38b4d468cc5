package nginxoperator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
)

func TestSettleTracker(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	target := func(uid, state string) plan.Target {
		return plan.Target{
			Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: types.UID(uid)}},
			State: snapshot.Fingerprint{Change: state},
		}
	}
	var r settleTracker
	steps := []struct {
		name             string
		uid, state       string
		settled          bool
		at               int
		since, unsettled int
	}{
		{"seen first", "1", "a", false, 0, 0, 0},
		{"still the same", "1", "a", false, 5, 0, 0},
		{"another", "1", "b", false, 7, 7, 0},
		{"and another", "1", "c", false, 9, 9, 0},
		{"backed up, then the same", "1", "c", true, 20, 9, 20},
		{"backed up, then another", "1", "d", true, 30, 30, 30},
		{"another application of that name", "2", "d", false, 40, 40, 30},
	}
	for _, s := range steps {
		if s.settled {
			r.markSettled(client.ObjectKey{Namespace: "shop", Name: "web"})
		}
		got := r.observe(target(s.uid, s.state), at(s.at))
		if !got.Since.Equal(at(s.since)) || !got.Unsettled.Equal(at(s.unsettled)) {
			t.Errorf("%s: since %v, unsettled since %v", s.name, got.Since.Sub(start), got.Unsettled.Sub(start))
		}
	}
	r.forget(client.ObjectKey{Namespace: "shop", Name: "web"})
	if got := r.observe(target("2", "d"), at(50)); !got.Since.Equal(at(50)) {
		t.Errorf("a forgotten one has been as it is since %v", got.Since)
	}
}
