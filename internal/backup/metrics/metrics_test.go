package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestCollector: what alerts ask for. Whether a backup is missing, or too old, hangs on what the
// policies want.
func TestCollector(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	meta := func(name, labels string, age time.Duration) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"backup": labels}, CreationTimestamp: metav1.NewTime(now.Add(-age))}
	}
	policy := func(selects string, triggers v1alpha1.Triggers) *v1alpha1.NginxBackupPolicy {
		return &v1alpha1.NginxBackupPolicy{ObjectMeta: meta(selects, "", 48*time.Hour), Spec: v1alpha1.NginxBackupPolicySpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": selects}}, Triggers: triggers,
			Destination: v1alpha1.Destination{URL: "pvc://backups"},
		}}
	}
	schedule := &v1alpha1.ScheduleTrigger{Cron: "0 3 * * *"}
	made := &v1alpha1.NginxBackup{
		ObjectMeta: meta("made", "", time.Hour), Spec: v1alpha1.NginxBackupSpec{Target: v1alpha1.TargetReference{Name: "nightly"}},
		Status: v1alpha1.NginxBackupStatus{
			CompletionTime: new(metav1.NewTime(now.Add(-time.Hour))),
			Conditions:     []metav1.Condition{{Type: v1alpha1.ConditionCompleted, Status: metav1.ConditionTrue}},
		},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	elected := make(chan struct{})
	close(elected)
	collector := &Collector{Elected: elected, Limit: 10, Clock: clocktesting.NewFakePassiveClock(now), Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha2.NginxOperator{ObjectMeta: meta("changes", "changes", 24*time.Hour)},
		&v1alpha2.NginxOperator{ObjectMeta: meta("nightly", "nightly", 24*time.Hour)},
		&v1alpha2.NginxOperator{ObjectMeta: meta("young", "nightly", time.Hour)},
		&v1alpha2.NginxOperator{ObjectMeta: meta("nobody's", "", 24*time.Hour)},
		policy("changes", v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{}}),
		policy("nightly", v1alpha1.Triggers{Schedule: schedule}),
		made,
	).Build()}
	want := fmt.Sprintf(`# HELP nginx_backup_last_success_timestamp_seconds Time at which the last good backup of an NginxOperator was completed, in seconds since the epoch; 0 if a policy selects it and it has none.
# TYPE nginx_backup_last_success_timestamp_seconds gauge
nginx_backup_last_success_timestamp_seconds{namespace="shop",target="changes"} 0
nginx_backup_last_success_timestamp_seconds{namespace="shop",target="nightly"} %d
nginx_backup_last_success_timestamp_seconds{namespace="shop",target="young"} 0
# HELP nginx_backup_last_wanted_timestamp_seconds Time at which the schedule of a policy last required a backup of an NginxOperator, in seconds since the epoch; 0 if only changes require one.
# TYPE nginx_backup_last_wanted_timestamp_seconds gauge
nginx_backup_last_wanted_timestamp_seconds{namespace="shop",target="changes"} 0
nginx_backup_last_wanted_timestamp_seconds{namespace="shop",target="nightly"} %d
`, now.Add(-time.Hour).Unix(), now.Add(-9*time.Hour).Unix())
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want),
		"nginx_backup_last_success_timestamp_seconds", "nginx_backup_last_wanted_timestamp_seconds"); err != nil {
		t.Error(err)
	}
}
