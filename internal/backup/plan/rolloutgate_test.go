package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

func beforeRollouts(spec *v1alpha1.NginxBackupPolicySpec) {
	spec.Triggers.BeforeRollout = &v1alpha1.BeforeRolloutTrigger{}
}

func beforeRolloutsOnly(spec *v1alpha1.NginxBackupPolicySpec) {
	beforeRollouts(spec)
	spec.Triggers.Change = nil
}

// waiting returns a target in a state, whose rollout r2 has waited for a minute.
func waiting(state string, gates ...string) Target {
	t := aTarget(state, 1, time.Minute)
	t.Unsettled = t.Since
	t.Nginx.Spec.Rollout = &v1alpha2.Rollout{Gates: gates}
	t.Nginx.Status.WaitingRollout = &v1alpha2.WaitingRollout{Revision: "r2", Gates: gates, Since: ago(time.Minute)}
	t.Nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonWaitingForGate}}
	return t
}

// after returns a target that has passed its gate, with this condition UpToDate.
func after(upToDate metav1.ConditionStatus, reason string) Target {
	t := waiting("b", "backup")
	t.Nginx.Status.WaitingRollout = nil
	t.Nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Status: upToDate, Reason: reason}}
	return t
}

// before turns a backup into one for a rollout that began to wait some time ago.
func before(revision string, since time.Duration) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) {
		b.Spec.Trigger = v1alpha1.TriggerBeforeRollout
		b.Annotations[v1alpha1.AnnotationRollout] = revision
		b.Annotations[v1alpha1.AnnotationWaitingSince] = ago(since).UTC().Format(time.RFC3339)
	}
}

func recorded(age time.Duration) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) { b.Status.StartTime = new(ago(age)) }
}

func TestBeforeRollout(t *testing.T) {
	const minute, long = time.Minute, time.Hour
	elsewhere := func(b *v1alpha1.NginxBackup) { b.Spec.Destination.URL = "s3://elsewhere" }
	unobserved := waiting("b", "backup")
	unobserved.Nginx.Generation++
	tests := []struct {
		name     string
		target   Target
		backups  []*v1alpha1.NginxBackup
		creates  bool
		pending  bool
		obsolete string
		passage  GateState
	}{
		{name: "nothing waits", target: aTarget("a", 1, long)},
		{name: "waits", target: waiting("b", "backup"), passage: Awaited, creates: true},
		{name: "waits for somebody else", target: waiting("b", "approval")},
		{name: "waits for both", target: waiting("b", "approval", "backup"), passage: Awaited, creates: true},
		{name: "waited with another spec", target: unobserved},
		{name: "waits, with an old backup of the same state", target: waiting("b", "backup"), passage: Awaited, creates: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, long, recorded(long))}},
		{name: "waits, with a young backup of the same state", target: waiting("b", "backup"), passage: GateOpened,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 30*time.Second, recorded(minute))}},
		{name: "waits, with a young backup of another state", target: waiting("b", "backup"), passage: Awaited, creates: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 30*time.Second, recorded(30*time.Second))}},
		{name: "waits, with its backup", target: waiting("b", "backup"), passage: GateOpened,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 3, 0, before("r2", minute))}},
		{name: "waits, with its backup elsewhere", target: waiting("b", "backup"), passage: Awaited, creates: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 0, before("r2", minute), recorded(0), elsewhere)}},
		{name: "waits, and its backup is being deleted", target: waiting("b", "backup"), passage: Awaited, creates: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 0, before("r2", minute), recorded(0), deleted)}},
		{name: "has waited before", target: waiting("b", "backup"), passage: Awaited, creates: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, long, before("r2", long), recorded(long))}},
		{name: "waits, and its backup is under way", target: waiting("b", "backup"), passage: Awaited, pending: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 0, before("r2", minute), pending)}},
		{name: "waits, and another backup is under way", target: waiting("b", "backup"), passage: Awaited, pending: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 0, pending, recorded(long))}},
		{name: "waits, and one for another rollout has recorded nothing", target: waiting("b", "backup"), passage: Awaited, creates: true, obsolete: "web-1",
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 0, before("r1", minute), pending)}},
		{name: "waits, and one for another rollout has recorded its state", target: waiting("b", "backup"), passage: Awaited, pending: true,
			backups: []*v1alpha1.NginxBackup{aBackup(1, "a", 1, 0, before("r1", minute), pending, recorded(minute))}},
		{name: "rolls out", target: after(metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress)},
		{name: "could not be written", target: after(metav1.ConditionFalse, v1alpha2.ReasonApplyFailed)},
		{name: "is rolled out", target: after(metav1.ConditionTrue, v1alpha2.ReasonRolledOut), passage: Over},
		{name: "has failed", target: after(metav1.ConditionFalse, v1alpha2.ReasonRolledBack), passage: Over},
		{name: "has failed, and is held", target: after(metav1.ConditionFalse, v1alpha2.ReasonRolloutHeld), passage: Over},
		{name: "was opened by hand", target: aTarget("b", 1, long), obsolete: "web-1",
			backups: []*v1alpha1.NginxBackup{aBackup(1, "b", 1, 0, before("r2", minute), pending)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policy := aPolicy(beforeRolloutsOnly)
			got := Decide(policy, nil, tt.target, tt.backups, now)
			if (got.Create != nil) != tt.creates || got.Pending != tt.pending || strings.Join(names(got.Obsolete), " ") != tt.obsolete {
				t.Errorf("creates %+v, pending %t, obsolete %v", got.Create, got.Pending, names(got.Obsolete))
			}
			if got.Gate != "backup" || got.GateState != tt.passage {
				t.Errorf("gate %q: %q, want %q", got.Gate, got.GateState, tt.passage)
			}
			if holds := BlocksRollout(policy, tt.target, tt.backups); holds != (tt.passage == Awaited) {
				t.Errorf("the policy holds back: %t", holds)
			}
		})
	}
}

// TestNamedForItsRollout: a backup can be found by the rollout that waited for it, and has another
// name when the same revision waits again.
func TestNamedForItsRollout(t *testing.T) {
	target := waiting("b", "backup")
	first := Decide(aPolicy(beforeRollouts), nil, target, nil, now).Create
	if first.Spec.Trigger != v1alpha1.TriggerBeforeRollout || first.Annotations[v1alpha1.AnnotationRollout] != "r2" ||
		!strings.Contains(first.Annotations[v1alpha1.AnnotationReason], "r2") {
		t.Errorf("the backup: %+v", first)
	}
	if !createdFor(first, target.Nginx.Status.WaitingRollout) {
		t.Error("it is not found by its rollout")
	}
	again := waiting("b", "backup")
	again.Nginx.Status.WaitingRollout.Since = ago(0)
	if other := Decide(aPolicy(beforeRollouts), nil, again, nil, now).Create; other.Name == first.Name {
		t.Errorf("both are called %s", first.Name)
	}
}

// TestAChangeIsBackedUpAfterItsRollout: a change is backed up after its rollout even if a backup
// before the rollout holds it.
func TestAChangeIsBackedUpAfterItsRollout(t *testing.T) {
	policy := aPolicy(beforeRollouts)
	backups := []*v1alpha1.NginxBackup{aBackup(1, "a", 1, time.Hour), aBackup(2, "b", 1, 0, before("r2", time.Minute), recorded(0))}
	held := waiting("b", "backup")
	held.Since, held.Unsettled = ago(20*time.Second).Time, ago(20*time.Second).Time
	if d := Decide(policy, nil, held, backups, now); d.Create != nil || d.GateState != GateOpened || d.Settled {
		t.Errorf("while it waits: %+v", d)
	}
	if d := Decide(policy, nil, aTarget("b", 1, time.Minute), backups, now); d.Create == nil || d.Create.Spec.Trigger != v1alpha1.TriggerChange {
		t.Errorf("after the rollout: %+v", d.Create)
	}
}

func TestGateNotDeclared(t *testing.T) {
	named := func(spec *v1alpha1.NginxBackupPolicySpec) {
		spec.Triggers.BeforeRollout = &v1alpha1.BeforeRolloutTrigger{Gate: "nightly"}
	}
	for name, tt := range map[string]struct {
		policy *v1alpha1.NginxBackupPolicy
		target Target
		want   string
	}{
		"nobody waits":  {aPolicy(), aTarget("a", 1, 0), ""},
		"no gates":      {aPolicy(beforeRollouts), aTarget("a", 1, 0), "backup"},
		"another gate":  {aPolicy(named), waiting("a", "backup"), "nightly"},
		"declared":      {aPolicy(named), waiting("a", "nightly", "backup"), ""},
		"the usual one": {aPolicy(beforeRollouts), waiting("a", "backup"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := GateNotDeclared(tt.policy, tt.target); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
