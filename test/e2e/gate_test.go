//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestRolloutWaitsForBackup: a rollout waits while no backup can be taken, and the running pods
// keep serving. It starts when there is a backup or when a user opens the gate.
func TestRolloutWaitsForBackup(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	spec := saying("hello", 2)
	spec.Image, spec.Rollout = new(oldestImage()), &v1alpha2.Rollout{Gates: []string{"backup"}}
	nginx := createReady(t, namespace, "web", spec)
	policy := createPolicy(t, namespace, backupv1alpha1.Destination{URL: "pvc://later"}, func(s *backupv1alpha1.NginxBackupPolicySpec) {
		s.Triggers = backupv1alpha1.Triggers{BeforeRollout: &backupv1alpha1.BeforeRolloutTrigger{}}
	})
	waitPolicy(t, policy, metav1.ConditionTrue, backupv1alpha1.ReasonUpToDate)
	traffic := startTraffic(t, nginx, "hello")

	pods := podUIDs(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitPolicy(t, policy, metav1.ConditionFalse, backupv1alpha1.ReasonBackupFailing)
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate)
	waitOnly(t, nginx, pods)
	eventually(t, "an event reports it", func() error {
		if notes := eventNotes(t, nginx, v1alpha2.ReasonWaitingForGate); len(notes) != 1 || !strings.Contains(notes[0], "gate backup") {
			return fmt.Errorf("events %s: %q", v1alpha2.ReasonWaitingForGate, notes)
		}
		return nil
	})

	newClaim(t, namespace, "later")
	start := time.Now()
	waitReady(t, nginx)
	t.Logf("measured: store there to rolled out, with a backup from before: %.1f s", time.Since(start).Seconds())
	if nginx.Status.Image != newestImage() || nginx.Status.WaitingRollout != nil {
		t.Errorf("the status has image %s, waiting: %+v", nginx.Status.Image, nginx.Status.WaitingRollout)
	}
	backup := waitBackups(t, namespace, 1)[0]
	if s := backup.Status.Source; backup.Spec.Trigger != backupv1alpha1.TriggerBeforeRollout || s == nil || s.Image != oldestImage() {
		t.Errorf("the backup was made by %s, of %+v", backup.Spec.Trigger, s)
	}
	waitClosed(t, nginx)
	openByHand(t, nginx, policy)
	waitClosed(t, nginx)
	traffic.stop(t)
}

// openByHand takes the backup operator's destination away, and starts a rollout all the same with
// the command in the condition.
func openByHand(t *testing.T, nginx *v1alpha2.NginxOperator, policy *backupv1alpha1.NginxBackupPolicy) {
	t.Helper()
	update(t, policy, func() { policy.Spec.Destination.URL = "pvc://gone" })
	pods := podUIDs(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("now") })
	message := waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate).Message
	waitOnly(t, nginx, pods)
	_, command, found := strings.Cut(message, ": kubectl ")
	if !found {
		t.Fatalf("there is no command in %q", message)
	}
	if said, err := kubectl(t, strings.Fields(command)...); err != nil {
		t.Fatalf("kubectl %s: %v: %s", command, err, said)
	}
	waitReady(t, nginx)
}

// waitClosed waits until the gate is closed.
func waitClosed(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	eventually(t, "the gate is closed", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		if revision, open := nginx.Annotations[v1alpha2.AnnotationGatePrefix+"backup"]; open {
			return fmt.Errorf("it is open for %s", revision)
		}
		return nil
	})
}
