package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/test/golden"
)

// TestRestoreOfAnotherArchive: nothing is restored from an archive that is not the one of the NginxBackup.
func TestRestoreOfAnotherArchive(t *testing.T) {
	for digest, reason := range map[string]string{"sha256:ab12": v1alpha1.ReasonCompleted, "sha256:cd34": v1alpha1.ReasonDamaged, "": v1alpha1.ReasonCompleted} {
		t.Run(digest, func(t *testing.T) {
			r := aRestore()
			s := newStage(t, &golden.Messages{}, 1, r, aBackup(completed, func(b *v1alpha1.NginxBackup) { b.Status.Digest = digest }))
			s.reconcile(r)
			s.servePod("shop", "")
			s.reconcile(r)
			c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
			if c == nil || c.Reason != reason || !outcome.RestoreFinished(r) {
				t.Errorf("the restore reports %+v", c)
			}
			err := s.client.Get(t.Context(), client.ObjectKeyFromObject(anApplication()), &v1alpha2.NginxOperator{})
			if restored := err == nil; restored != (reason == v1alpha1.ReasonCompleted) {
				t.Errorf("the application was restored: %t (%v)", restored, err)
			}
		})
	}
}

// TestAnotherArchiveInStore: a backup whose data is in the store again is good only if it is the same data.
func TestAnotherArchiveInStore(t *testing.T) {
	for digest, good := range map[string]bool{"sha256:ab12": true, "sha256:cd34": false} {
		b := aBackup(completed, func(b *v1alpha1.NginxBackup) {
			b.Status.Digest = digest
			b.Status = outcome.DataFoundAgain(b)
		})
		s := newStage(t, &golden.Messages{}, 1, b)
		s.reconcile(b)
		s.report(completedResult)
		s.reconcile(b)
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
		if plan.Good(b) != good || b.Status.Digest != digest || c == nil || !good && c.Reason != v1alpha1.ReasonDamaged {
			t.Errorf("the backup with the digest %s reports the digest %s: %+v", digest, b.Status.Digest, c)
		}
	}
}
