package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// now is a Saturday at noon, UTC.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// aPolicy returns a policy that has existed for a month and backs up all changes to one
// destination.
func aPolicy(change ...func(*v1alpha1.NginxBackupPolicySpec)) *v1alpha1.NginxBackupPolicy {
	p := &v1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", UID: "policy", CreationTimestamp: ago(30 * 24 * time.Hour)},
		Spec: v1alpha1.NginxBackupPolicySpec{
			Triggers:    v1alpha1.Triggers{Change: &v1alpha1.ChangeTrigger{SettleSeconds: new(int32(10))}},
			Destination: v1alpha1.Destination{URL: "s3://backups"},
		},
	}
	for _, c := range change {
		c(&p.Spec)
	}
	return p
}

func withSecret(name string) func(*v1alpha1.NginxBackupPolicySpec) {
	return func(spec *v1alpha1.NginxBackupPolicySpec) {
		spec.Destination.Secret = &v1alpha1.SecretReference{Name: name}
	}
}

func scaling(spec *v1alpha1.NginxBackupPolicySpec) {
	spec.Triggers.Scale = &v1alpha1.ChangeTrigger{SettleSeconds: new(int32(10))}
}

func daily(spec *v1alpha1.NginxBackupPolicySpec) {
	spec.Triggers.Schedule = &v1alpha1.ScheduleTrigger{Cron: "0 3 * * *", TimeZone: "Etc/UTC"}
}

func scheduledOnly(spec *v1alpha1.NginxBackupPolicySpec) {
	daily(spec)
	spec.Triggers.Change = nil
}

// aTarget returns a target that has been in a state for some time.
func aTarget(state string, replicas int32, still time.Duration) Target {
	return Target{
		Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "web", Generation: 7, CreationTimestamp: ago(20 * 24 * time.Hour),
		}, Status: v1alpha2.NginxOperatorStatus{ObservedGeneration: 7}},
		State: snapshot.Fingerprint{Change: state, Replicas: replicas},
		Since: now.Add(-still),
	}
}

// moving returns a target that has been in a state for 30 seconds and is still changing.
func moving(state string, change func(*v1alpha2.NginxOperator)) Target {
	t := aTarget(state, 1, 30*time.Second)
	t.Unsettled = t.Since
	change(t.Nginx)
	return t
}

// aBackup returns a backup of a state that was completed some time ago.
func aBackup(number int, state string, replicas int, age time.Duration, change ...func(*v1alpha1.NginxBackup)) *v1alpha1.NginxBackup {
	b := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", number), UID: types.UID(fmt.Sprintf("uid-%d", number)), CreationTimestamp: ago(age),
			Annotations: map[string]string{
				v1alpha1.AnnotationSequence: fmt.Sprint(number), v1alpha1.AnnotationState: state, v1alpha1.AnnotationReplicas: fmt.Sprint(replicas),
			},
		},
		Spec: v1alpha1.NginxBackupSpec{Destination: v1alpha1.Destination{URL: "s3://backups"}, Trigger: v1alpha1.TriggerChange},
	}
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionCompleted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted})
	b.Status.CompletionTime = new(ago(age))
	for _, c := range change {
		c(b)
	}
	return b
}

func pending(b *v1alpha1.NginxBackup) { b.Status = v1alpha1.NginxBackupStatus{} }

func failing(reason string) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionCompleted, Status: metav1.ConditionFalse, Reason: reason})
	}
}

func deleted(b *v1alpha1.NginxBackup) { b.DeletionTimestamp = new(ago(0)) }

func scheduledFor(at string) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) { b.Annotations[v1alpha1.AnnotationScheduledAt] = at }
}

// existing turns a backup into one that was found in the store.
func existing(b *v1alpha1.NginxBackup) {
	b.Spec.Existing = &v1alpha1.ExistingBackup{Path: "shop/web/" + b.Name + "-01234567"}
}

func verified(status metav1.ConditionStatus, reason string) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionVerified, Status: status, Reason: reason})
	}
}

var (
	lost       = verified(metav1.ConditionFalse, v1alpha1.ReasonDataMissing)
	unverified = verified(metav1.ConditionUnknown, v1alpha1.ReasonNotVerified)
)

// TestGood: a backup that is not verified, or whose data is lost, is not good. It is never written
// again, and does not make a good one expire.
func TestGood(t *testing.T) {
	tests := []struct {
		name                string
		backup              *v1alpha1.NginxBackup
		good, written, lost bool
	}{
		{"completed", aBackup(1, "a", 1, time.Hour), true, true, false},
		{"verified", aBackup(1, "a", 1, time.Hour, verified(metav1.ConditionTrue, v1alpha1.ReasonVerified)), true, true, false},
		{"lost", aBackup(1, "a", 1, time.Hour, lost), false, true, true},
		{"there again", aBackup(1, "a", 1, time.Hour, unverified), false, true, false},
		{"under way", aBackup(1, "a", 1, time.Hour, pending), false, false, false},
		{"found", aBackup(1, "a", 1, time.Hour, existing, pending), false, true, false},
		{"found and lost", aBackup(1, "a", 1, time.Hour, existing, pending, lost), false, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if Good(tt.backup) != tt.good || Written(tt.backup) != tt.written || Lost(tt.backup) != tt.lost {
				t.Errorf("good %v, written %v, lost %v", Good(tt.backup), Written(tt.backup), Lost(tt.backup))
			}
		})
	}
	kept := []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 2*time.Hour), aBackup(2, "a", 1, time.Hour, lost), aBackup(3, "a", 1, time.Hour, unverified)}
	if expired := Expired(&v1alpha1.Retention{KeepLast: new(int32(1))}, kept, now); len(expired) > 0 {
		t.Errorf("the last good one expires: %v", names(expired))
	}
	if Waiting(aPolicy(), aTarget("a", 1, time.Hour), []*v1alpha1.NginxBackup{aBackup(1, "a", 1, time.Hour, existing, pending)}) {
		t.Error("a policy waits for a backup that it did not make")
	}
}

// TestSequence: a new backup comes after all earlier ones, and after those that were taken earlier
// but are found later, even if the clock was wrong.
func TestSequence(t *testing.T) {
	ahead := now.Unix() + 1000
	for before, want := range map[int64]int64{1: now.Unix(), now.Unix(): now.Unix() + 1, ahead: ahead + 1} {
		b := aBackup(1, "a", 1, time.Hour)
		b.Annotations[v1alpha1.AnnotationSequence] = fmt.Sprint(before)
		d := Decide(aPolicy(), nil, aTarget("b", 1, time.Hour), []*v1alpha1.NginxBackup{b}, now)
		if got := d.Create.Annotations[v1alpha1.AnnotationSequence]; got != fmt.Sprint(want) {
			t.Errorf("after %d comes %s, want %d", before, got, want)
		}
	}
}

// TestTakenWithinASecond: two backups that were found in a store, and were taken within one second, have
// the same number. The one of the later generation is the newest, whatever their names.
func TestTakenWithinASecond(t *testing.T) {
	older, newer := aBackup(7, "a", 1, time.Hour), aBackup(7, "b", 1, time.Hour)
	older.Name = "web-z"
	older.Status.Source = &v1alpha1.BackupSource{UID: "u", Generation: 3}
	newer.Status.Source = &v1alpha1.BackupSource{UID: "u", Generation: 4}
	if got := latest([]*v1alpha1.NginxBackup{newer, older}); got != newer {
		t.Errorf("the newest is %s", got.Name)
	}
	if got := latest([]*v1alpha1.NginxBackup{older, newer}); got != newer {
		t.Errorf("in the other order, the newest is %s", got.Name)
	}
}

func TestDecide(t *testing.T) {
	const long = time.Hour
	elsewhere := func(spec *v1alpha1.NginxBackupPolicySpec) { spec.Destination.URL = "s3://elsewhere" }
	tests := []struct {
		name     string
		policy   *v1alpha1.NginxBackupPolicy
		target   Target
		backups  []*v1alpha1.NginxBackup
		create   v1alpha1.Trigger
		reason   string
		obsolete []string
		pending  bool
		after    time.Duration
	}{
		{name: "the first", policy: aPolicy(), target: aTarget("a", 1, long), create: v1alpha1.TriggerChange, reason: "the first backup"},
		{name: "the first, of who scales only", policy: aPolicy(scaling, func(s *v1alpha1.NginxBackupPolicySpec) { s.Triggers.Change = nil }),
			target: aTarget("a", 1, long), create: v1alpha1.TriggerScale, reason: "the first backup"},
		{name: "nothing changed", policy: aPolicy(scaling), target: aTarget("a", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}},
		{name: "a change", policy: aPolicy(), target: aTarget("b", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)},
			create: v1alpha1.TriggerChange, reason: "generation 7, configuration unknown"},
		{name: "a change, not settled", policy: aPolicy(), target: aTarget("b", 1, 4*time.Second), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)},
			after: 6 * time.Second},
		{name: "a change that never settles", policy: aPolicy(),
			target: func() Target {
				t := aTarget("b", 1, time.Second)
				t.Unsettled = now.Add(-101 * time.Second)
				return t
			}(),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}, create: v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "a rollout is under way", policy: aPolicy(), target: moving("b", func(n *v1alpha2.NginxOperator) {
			meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{Type: "UpToDate", Status: "False", Reason: "RolloutInProgress"})
		}), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}, after: 70 * time.Second},
		{name: "a rollout has failed", policy: aPolicy(), target: moving("b", func(n *v1alpha2.NginxOperator) {
			meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{Type: "UpToDate", Status: "False", Reason: "RolledBack"})
		}), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}, create: v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "nobody has looked at the change", policy: aPolicy(), target: moving("b", func(n *v1alpha2.NginxOperator) { n.Generation++ }),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}, after: 70 * time.Second},
		{name: "there and back again", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 2*long), aBackup(2, "b", 1, long)}, create: v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "made in the same second", policy: aPolicy(), target: aTarget("b", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(9, "a", 1, long), aBackup(10, "b", 1, long)}},
		{name: "scaled, nobody asks", policy: aPolicy(), target: aTarget("a", 3, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)}},
		{name: "scaled", policy: aPolicy(scaling), target: aTarget("a", 3, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)},
			create: v1alpha1.TriggerScale, reason: "replicas 1 to 3"},
		{name: "what was recorded counts", policy: aPolicy(scaling), target: aTarget("b", 3, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, func(b *v1alpha1.NginxBackup) {
				b.Status.Source = &v1alpha1.BackupSource{State: "b", Replicas: 3}
			})}},
		{name: "a spoilt annotation", policy: aPolicy(scaling), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, func(b *v1alpha1.NginxBackup) { b.Annotations[v1alpha1.AnnotationReplicas] = "x" })},
			create:  v1alpha1.TriggerScale, reason: "replicas -1 to 1"},
		{name: "one is under way", policy: aPolicy(), target: aTarget("b", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending)}, pending: true},
		{name: "one is under way, of the same", policy: aPolicy(), target: aTarget("a", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending)}},
		{name: "one is under way, with credentials", policy: aPolicy(withSecret("s3")), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, func(b *v1alpha1.NginxBackup) {
				b.Spec.Destination.Secret = &v1alpha1.SecretReference{Name: "s3"}
			})}},
		{name: "one is under way, with credentials that nobody uses any more", policy: aPolicy(withSecret("new")), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, func(b *v1alpha1.NginxBackup) {
				b.Spec.Destination.Secret = &v1alpha1.SecretReference{Name: "s3"}
			})}, create: v1alpha1.TriggerChange, reason: "the first backup", obsolete: []string{"web-1"}},
		{name: "one is under way, changed by somebody else on its way in", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, func(b *v1alpha1.NginxBackup) {
				b.Spec.Destination.URL = "s3://defaulted"
				b.Annotations[v1alpha1.AnnotationPolicyVersion] = "policy-0"
			})}},
		{name: "one fails by what it recorded", policy: aPolicy(), target: aTarget("b", 1, long), obsolete: []string{"web-1"},
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, failing(v1alpha1.ReasonSourceFailed))}, create: v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "one of a schedule fails by what it recorded", policy: aPolicy(scheduledOnly), target: aTarget("b", 1, long), obsolete: []string{"web-1"},
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, failing(v1alpha1.ReasonPodNotStarted))},
			create:  v1alpha1.TriggerSchedule, reason: "2026-11-21T03:00:00Z", after: 15 * time.Hour},
		{name: "one fails by what it recorded, and nothing has changed", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, failing(v1alpha1.ReasonSourceFailed))}},
		{name: "one fails by its store", policy: aPolicy(), target: aTarget("b", 1, long), pending: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending, failing(v1alpha1.ReasonStoreDenied))}},
		{name: "one is under way to where nobody wants it", policy: aPolicy(elsewhere), target: aTarget("b", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, pending)}, create: v1alpha1.TriggerChange, reason: "the first backup", obsolete: []string{"web-1"}},
		{name: "where it is kept now, there is none", policy: aPolicy(elsewhere), target: aTarget("a", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long)},
			create: v1alpha1.TriggerChange, reason: "the first backup"},
		{name: "the last was deleted", policy: aPolicy(), target: aTarget("a", 1, long), backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, deleted)},
			create: v1alpha1.TriggerChange, reason: "the first backup"},
		{name: "the state was found in the store", policy: aPolicy(scaling), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, existing, pending)}},
		{name: "another state was found in the store", policy: aPolicy(), target: aTarget("b", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, existing, pending)}, create: v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "what was found is damaged", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, existing, failing(v1alpha1.ReasonDamaged))}, create: v1alpha1.TriggerChange, reason: "the first backup"},
		{name: "what was found cannot be read for now", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, existing, pending, failing(v1alpha1.ReasonStoreUnavailable))}},
		{name: "what was found is where nobody wants it", policy: aPolicy(elsewhere), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, long, existing, pending)}, create: v1alpha1.TriggerChange, reason: "the first backup"},
		{name: "the data of the last is gone", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 2*long), aBackup(2, "b", 1, 2*long), aBackup(3, "a", 1, long, lost)},
			create:  v1alpha1.TriggerChange, reason: "generation 7"},
		{name: "the data of one before is gone", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 2*long, lost), aBackup(2, "a", 1, long)}},
		{name: "the data of the last is there again", policy: aPolicy(), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(3, "a", 1, long, unverified)}},
		{name: "time for the first", policy: aPolicy(scheduledOnly), target: aTarget("a", 1, long), create: v1alpha1.TriggerSchedule,
			reason: "2026-11-21T03:00:00Z", after: 15 * time.Hour},
		{name: "not time yet", policy: aPolicy(daily), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 9*time.Hour, scheduledFor("2026-11-21T03:00:00Z"))}, after: 15 * time.Hour},
		{name: "made for a time to come", policy: aPolicy(daily), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 9*time.Hour, scheduledFor("2027-11-21T03:00:00Z"))},
			create:  v1alpha1.TriggerSchedule, reason: "2026-11-21T03:00:00Z", after: 15 * time.Hour},
		{name: "many were missed", policy: aPolicy(daily), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 200*time.Hour, scheduledFor("2026-11-13T03:00:00Z"))},
			create:  v1alpha1.TriggerSchedule, reason: "2026-11-21T03:00:00Z", after: 15 * time.Hour},
		{name: "time, but one is under way", policy: aPolicy(daily), target: aTarget("a", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 200*time.Hour, pending)}, pending: true, after: 15 * time.Hour},
		{name: "times before there was a target", policy: aPolicy(scheduledOnly), after: 15 * time.Hour, target: func() Target {
			t := aTarget("a", 1, long)
			t.Nginx.CreationTimestamp = ago(time.Hour)
			return t
		}()},
		{name: "a change between two times", policy: aPolicy(daily), target: aTarget("b", 1, long),
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 9*time.Hour, scheduledFor("2026-11-21T03:00:00Z"))},
			create:  v1alpha1.TriggerChange, reason: "generation 7", after: 15 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Decide(tt.policy, scheduleOf(t, tt.policy), tt.target, tt.backups, now)
			switch {
			case tt.create == "" && got.Create != nil:
				t.Errorf("creates %s: %s", got.Create.Spec.Trigger, got.Create.Annotations[v1alpha1.AnnotationReason])
			case tt.create != "" && (got.Create == nil || got.Create.Spec.Trigger != tt.create):
				t.Errorf("creates %+v, want %s", got.Create, tt.create)
			case tt.create != "" && !strings.Contains(got.Create.Annotations[v1alpha1.AnnotationReason], tt.reason):
				t.Errorf("reason %q, want %q", got.Create.Annotations[v1alpha1.AnnotationReason], tt.reason)
			}
			if diff := cmp.Diff(tt.obsolete, names(got.Obsolete)); diff != "" {
				t.Errorf("obsolete, -want +got:\n%s", diff)
			}
			if got.Pending != tt.pending || got.After != tt.after {
				t.Errorf("pending %v after %v, want %v after %v", got.Pending, got.After, tt.pending, tt.after)
			}
		})
	}
}

func scheduleOf(t *testing.T, policy *v1alpha1.NginxBackupPolicy) *Schedule {
	t.Helper()
	if policy.Spec.Triggers.Schedule == nil {
		return nil
	}
	schedule, err := ParseSchedule(policy.Spec.Triggers.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	return schedule
}

func names(backups []*v1alpha1.NginxBackup) []string {
	var list []string
	for _, b := range backups {
		list = append(list, b.Name)
	}
	return list
}

// TestNamesFollow: the same decision leads to the same name, and any difference to another one.
func TestNamesFollow(t *testing.T) {
	first := Decide(aPolicy(), nil, aTarget("a", 1, time.Hour), nil, now).Create
	again := Decide(aPolicy(), nil, aTarget("a", 1, 2*time.Hour), nil, now.Add(time.Second)).Create
	if first.Name != again.Name {
		t.Errorf("%s, and decided again %s", first.Name, again.Name)
	}
	other := aPolicy()
	other.UID = "other"
	seen := map[string]string{first.Name: "the first"}
	for name, b := range map[string]*v1alpha1.NginxBackup{
		"another state":       Decide(aPolicy(), nil, aTarget("b", 1, time.Hour), nil, now).Create,
		"another policy":      Decide(other, nil, aTarget("a", 1, time.Hour), nil, now).Create,
		"after another":       Decide(aPolicy(), nil, aTarget("a", 1, time.Hour), []*v1alpha1.NginxBackup{aBackup(1, "b", 1, time.Hour)}, now).Create,
		"after a third":       Decide(aPolicy(), nil, aTarget("a", 1, time.Hour), []*v1alpha1.NginxBackup{aBackup(2, "b", 1, time.Hour)}, now).Create,
		"to another place":    Decide(aPolicy(func(s *v1alpha1.NginxBackupPolicySpec) { s.Destination.URL = "gs://b" }), nil, aTarget("a", 1, time.Hour), nil, now).Create,
		"of another schedule": Decide(aPolicy(daily), scheduleOf(t, aPolicy(daily)), aTarget("a", 1, time.Hour), nil, now).Create,
	} {
		if twin, taken := seen[b.Name]; taken {
			t.Errorf("%s and %s are both called %s", name, twin, b.Name)
		}
		seen[b.Name] = name
	}
}

func TestExpired(t *testing.T) {
	day := 24 * time.Hour
	backups := []*v1alpha1.NginxBackup{
		aBackup(3, "c", 1, 40*day), aBackup(1, "a", 1, 90*day), aBackup(2, "b", 1, 60*day), aBackup(4, "d", 1, 10*day),
		aBackup(5, "e", 1, 5*day, deleted), aBackup(6, "f", 1, day, pending),
	}
	tests := []struct {
		name       string
		last, days int32
		want       []string
		next       time.Duration
	}{
		{"the last one", 1, 0, []string{"web-1", "web-2", "web-3"}, 0},
		{"the last two", 2, 0, []string{"web-1", "web-2"}, 0},
		{"more than there are", 9, 0, nil, 0},
		{"of fifty days", 0, 50, []string{"web-1", "web-2"}, 10 * day},
		{"of a day: the last good one stays", 0, 1, []string{"web-1", "web-2", "web-3"}, 0},
		{"either rule keeps", 3, 50, []string{"web-1"}, 0},
		{"of a hundred days", 2, 100, nil, 10 * day},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			retention := &v1alpha1.Retention{}
			if tt.last > 0 {
				retention.KeepLast = &tt.last
			}
			if tt.days > 0 {
				retention.KeepDays = &tt.days
			}
			expired := names(Expired(retention, backups, now))
			slices.Sort(expired)
			if diff := cmp.Diff(tt.want, expired); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if next := nextExpiry(retention, backups, now); next != tt.next {
				t.Errorf("the next expires in %v, want %v", next, tt.next)
			}
		})
	}
	if len(Expired(nil, backups, now)) > 0 {
		t.Error("without a retention something expires")
	}
}

// TestExpiredWithinASecond: of backups that were completed within one second, the one created first
// expires first, whatever their names.
func TestExpiredWithinASecond(t *testing.T) {
	backups := []*v1alpha1.NginxBackup{aBackup(10, "b", 1, time.Hour), aBackup(9, "a", 1, time.Hour), aBackup(11, "c", 1, time.Hour)}
	expired := names(Expired(&v1alpha1.Retention{KeepLast: new(int32(1))}, backups, now))
	if diff := cmp.Diff([]string{"web-10", "web-9"}, expired); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWanted(t *testing.T) {
	lastNight, lastYear := now.Add(-9*time.Hour), now.AddDate(-1, 0, 0)
	for _, tt := range []struct {
		name   string
		policy *v1alpha1.NginxBackupPolicy
		last   time.Time
		since  time.Time
		wanted bool
	}{
		{"changes alone", aPolicy(), time.Time{}, time.Time{}, true},
		{"scaling alone", aPolicy(scaling, func(spec *v1alpha1.NginxBackupPolicySpec) { spec.Triggers.Change = nil }), time.Time{}, time.Time{}, true},
		{"changes, and a time that was due", aPolicy(daily), lastNight, lastNight, true},
		{"changes, and a time before there was the policy", aPolicy(daily), lastYear, time.Time{}, true},
		{"a time that was due", aPolicy(scheduledOnly), lastNight, lastNight, true},
		{"a time before there was the policy", aPolicy(scheduledOnly), lastYear, time.Time{}, false},
		{"a time before there was the target", aPolicy(scheduledOnly), now.AddDate(0, 0, -25), time.Time{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			since, wanted := Wanted(tt.policy, aTarget("one", 1, time.Hour).Nginx, tt.last)
			if !since.Equal(tt.since) || wanted != tt.wanted {
				t.Errorf("it is %v since %s, want %v since %s", wanted, since, tt.wanted, tt.since)
			}
		})
	}
}

func TestSchedule(t *testing.T) {
	tests := []struct {
		cron, zone string
		at         string
		last, next string
		complaint  string
	}{
		{cron: "0 3 * * *", at: "2026-11-21T12:00:00Z", last: "2026-11-21T03:00:00Z", next: "2026-11-22T03:00:00Z"},
		{cron: "0 3 * * *", at: "2026-11-21T03:00:00Z", last: "2026-11-21T03:00:00Z", next: "2026-11-22T03:00:00Z"},
		{cron: "0 3 * * *", zone: "Europe/Berlin", at: "2026-11-21T12:00:00Z", last: "2026-11-21T02:00:00Z", next: "2026-11-22T02:00:00Z"},
		{cron: "@weekly", at: "2026-11-21T12:00:00Z", last: "2026-11-15T00:00:00Z", next: "2026-11-22T00:00:00Z"},
		{cron: "*/15 8-18 * * 1-5", at: "2026-11-21T12:00:00Z", last: "2026-11-20T18:45:00Z", next: "2026-11-23T08:00:00Z"},
		{cron: "0 25 * * *", complaint: "triggers.schedule.cron"},
		{cron: "@every 5m", complaint: "use five fields"},
		{cron: "0 0 30 2 *", complaint: "never occurs"},
		{cron: "0 3 * * *", zone: "Mars/Olympus", complaint: "IANA"},
		{cron: "0 3 * * *", zone: "Local", complaint: "IANA"},
	}
	for _, tt := range tests {
		t.Run(tt.cron+" "+tt.zone, func(t *testing.T) {
			s, err := ParseSchedule(&v1alpha1.ScheduleTrigger{Cron: tt.cron, TimeZone: tt.zone})
			if tt.complaint != "" {
				if err == nil || !strings.Contains(err.Error(), tt.complaint) {
					t.Errorf("err = %v, want %q", err, tt.complaint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if last := s.Last(at).UTC().Format(time.RFC3339); last != tt.last {
				t.Errorf("last %s, want %s", last, tt.last)
			}
			if next := s.Next(at).UTC().Format(time.RFC3339); next != tt.next {
				t.Errorf("next %s, want %s", next, tt.next)
			}
		})
	}
}

// TestClocksChange: every day has its backup when clocks change, and the next time becomes the last
// one.
func TestClocksChange(t *testing.T) {
	s, err := ParseSchedule(&v1alpha1.ScheduleTrigger{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		after time.Time
		times int
	}{
		{"an ordinary day", time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC), 1},
		{"put forward", time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), 1},
		{"put back", time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			times := 0
			for at := s.Next(tt.after); at.Before(tt.after.Add(24 * time.Hour)); at = s.Next(at) {
				times++
				if last := s.Last(at.Add(time.Minute)); !last.Equal(at) {
					t.Errorf("at %v, the last time is %v", at, last)
				}
			}
			if times != tt.times {
				t.Errorf("it is time %d times in 24 hours, want %d", times, tt.times)
			}
		})
	}
}

// TestWantedClaims: a backup that left out other claims than the policy does not count, and the order of claims does not
// matter.
func TestWantedClaims(t *testing.T) {
	policy := aPolicy(func(s *v1alpha1.NginxBackupPolicySpec) { s.ExcludeClaims = []string{"cache", "tmp"} })
	policy.Generation = 7
	for claims, want := range map[string]bool{"": false, "cache": false, "tmp cache": true, "cache tmp films": false} {
		b := aBackup(1, "a", 1, 0, func(b *v1alpha1.NginxBackup) {
			b.Spec.Destination, b.Spec.IncludeSecrets, b.Spec.ExcludeClaims = policy.Spec.Destination, policy.Spec.IncludeSecrets, strings.Fields(claims)
			delete(b.Annotations, v1alpha1.AnnotationPolicyVersion)
		})
		if wanted(policy, b) != want {
			t.Errorf("without %q: wanted is %v", claims, !want)
		}
	}
}
