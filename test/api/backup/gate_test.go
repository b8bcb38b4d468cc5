package backup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/standin"
)

// gated is the spec of an application whose rollouts wait for backups.
var gated = v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{Gates: []string{"backup"}}}

// beforeRollouts makes a policy take backups only before rollouts.
func beforeRollouts(spec *v1alpha1.NginxBackupPolicySpec) {
	spec.Triggers = v1alpha1.Triggers{BeforeRollout: &v1alpha1.BeforeRolloutTrigger{}}
}

// wait makes a rollout wait, as the other operator would.
func (b *bench) wait(nginx *v1alpha2.NginxOperator, revision string) {
	b.t.Helper()
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Image = new("nginx:" + revision) })
	b.says(nginx, &v1alpha2.WaitingRollout{Revision: revision, Gates: []string{"backup"}, Since: metav1.NewTime(time.Now().Truncate(time.Second))})
}

// says writes the status that the other operator would: a waiting rollout or, if there is none,
// that everything is rolled out.
func (b *bench) says(nginx *v1alpha2.NginxOperator, waiting *v1alpha2.WaitingRollout) {
	b.t.Helper()
	c := metav1.Condition{Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionTrue, Reason: v1alpha2.ReasonRolledOut, LastTransitionTime: metav1.Now()}
	if waiting != nil {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate
	}
	text, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": nginx.Generation, "waitingRollout": waiting, "conditions": []metav1.Condition{c},
	}})
	must(b.t, err)
	must(b.t, kube.Status().Patch(b.t.Context(), nginx, client.RawPatch(types.MergePatchType, text)))
}

// opened returns the revision for which the gate is open.
func (b *bench) opened(name string) string {
	b.t.Helper()
	nginx := &v1alpha2.NginxOperator{}
	must(b.t, kube.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: name}, nginx))
	return nginx.Annotations[v1alpha2.AnnotationGatePrefix+"backup"]
}

func (b *bench) waitOpened(name, revision string) {
	b.t.Helper()
	b.eventually("the gate of "+name+" is open for "+revision, func() error {
		if got := b.opened(name); got != revision {
			return fmt.Errorf("it is for %q", got)
		}
		return nil
	})
}

// waitPolicy waits until the Ready condition of a policy has a reason, and its message contains the
// words.
func (b *bench) waitPolicy(policy *v1alpha1.NginxBackupPolicy, reason, words string) {
	b.t.Helper()
	b.eventually("the policy says "+reason, func() error {
		must(b.t, kube.Get(b.t.Context(), client.ObjectKeyFromObject(policy), policy))
		c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Reason != reason || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// TestBeforeRollout: each waiting rollout gets a backup of the state before it, and no other backup
// is taken.
func TestBeforeRollout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", gated)
	policy := b.policy(beforeRollouts)
	b.settled()
	b.waitBackups(0)
	b.wait(nginx, "r1")
	b.waitOpened("web", "r1")
	first := b.waitBackups(1)[0]
	if first.Spec.Trigger != v1alpha1.TriggerBeforeRollout || first.Annotations[v1alpha1.AnnotationRollout] != "r1" {
		t.Errorf("the backup: %+v", first)
	}
	b.settled()
	b.restart()
	if n := b.settled(); n > 0 {
		t.Errorf("a restarted operator writes:\n%s", strings.Join(b.operator.wrote(), "\n"))
	}
	// After the rollout, the gate is closed for the next request of the same revision.
	b.says(nginx, nil)
	b.waitOpened("web", "")
	b.settled()
	upToDate(t, policy, 1)
	b.wait(nginx, "r1")
	b.waitOpened("web", "r1")
	b.waitBackups(2)
	b.verify()
}

// TestGateStaysClosed: while there is no backup, the rollout waits and the policy reports why.
func TestGateStaysClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", gated)
	policy := b.policy(beforeRollouts)
	b.place.Fail(func(*batchv1.Job) standin.Fate { return standin.Fate{Killed: true} })
	b.wait(nginx, "r1")
	b.waitPolicy(policy, v1alpha1.ReasonBackupFailing, "web, whose rollout waits for a backup: JobFailed")
	if got := b.opened("web"); got != "" {
		t.Errorf("without a backup, the gate is open for %s", got)
	}
	b.place.Fail(nil)
	b.waitOpened("web", "r1")
	b.waitBackups(1)
	b.verify()
}

// TestGateNotDeclared: a policy reports that it cannot hold back rollouts that do not wait.
func TestGateNotDeclared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	policy := b.policy(beforeRollouts)
	b.waitPolicy(policy, v1alpha1.ReasonGateNotDeclared, "Rollouts of web do not wait for a backup: add backup to spec.rollout.gates")
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Rollout = gated.Rollout })
	b.waitPolicy(policy, v1alpha1.ReasonUpToDate, "")
}

// TestGateOfTwoPolicies: the gate opens once each policy that is not suspended has its backup. A
// policy that cannot take any keeps it closed.
func TestGateOfTwoPolicies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", gated)
	b.policy(beforeRollouts)
	other := &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "other"}}
	beforeRollouts(&other.Spec)
	other.Spec.Triggers.Schedule = &v1alpha1.ScheduleTrigger{Cron: "0 0 31 2 *"}
	other.Spec.Target, other.Spec.Destination.URL = &v1alpha1.TargetReference{Name: "web"}, claimURL
	must(t, kube.Create(t.Context(), other))
	b.waitPolicy(other, v1alpha1.ReasonScheduleInvalid, "")
	b.wait(nginx, "r1")
	b.waitBackups(1)
	b.settled()
	if got := b.opened("web"); got != "" {
		t.Errorf("without a backup of the second policy, the gate is open for %s", got)
	}
	edit(b, other, func(policy *v1alpha1.NginxBackupPolicy) { policy.Spec.Triggers.Schedule = nil })
	b.waitOpened("web", "r1")
	made := b.waitBackups(2)
	if policies := []string{*made[0].Spec.PolicyName, *made[1].Spec.PolicyName}; !slices.Contains(policies, "all") || !slices.Contains(policies, "other") {
		t.Errorf("backups of %v", policies)
	}
	edit(b, other, func(policy *v1alpha1.NginxBackupPolicy) { policy.Spec.Suspend = new(true) })
	b.wait(nginx, "r2")
	b.waitOpened("web", "r2")
	b.waitBackups(3)
}
