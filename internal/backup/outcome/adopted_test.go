package outcome

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/plan"
)

// TestAdopted: a backup that was found gets the status that it had when it was written.
func TestAdopted(t *testing.T) {
	b := aBackup()
	b.Spec.Existing = &v1alpha1.ExistingBackup{Path: "shop/web/web-1-01234567"}
	b.Status = ExistingNotVerified(b, v1alpha1.ReasonInProgress, "")
	if c := b.Status.Conditions[0]; c.Message != "The archive is being verified" || plan.Good(b) {
		t.Errorf("while it is verified: %+v", c)
	}
	s, result := aSnapshot(), aResult()
	s.Info.Reason = "the first backup"
	s.Info.Application.State, s.Info.Application.Replicas = s.State.Change, &s.State.Replicas
	result.Existing = job.NewExisting(s.Info, v1alpha1.BackupContents{Files: 12, ConfigMaps: []string{"conf"}})
	b.Status = Adopted(b, result)
	if !plan.Good(b) {
		t.Fatalf("it is not good: %+v", b.Status.Conditions)
	}
	got := b.Status
	got.Conditions = nil
	want := v1alpha1.NginxBackupStatus{
		ObservedGeneration: 1, Reason: "the first backup",
		Source: &v1alpha1.BackupSource{
			UID: "web-uid", Generation: 7, State: "abc", Replicas: 3, ConfigRevision: "r2", ServedRevision: "r1", Image: "nginx:1.30", ImageDigest: "sha256:1",
		},
		Location: "s3://backups/nginx/shop/web/web-1-0123/data-2.tar.gz", Size: "5Mi", SizeBytes: 5 << 20, Digest: "sha256:ab12",
		Contents:  &v1alpha1.BackupContents{Files: 12, ConfigMaps: []string{"conf"}},
		StartTime: new(metav1.NewTime(now)), CompletionTime: new(metav1.NewTime(now.Add(5 * time.Second))),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAdoptedOfAnEarlyVersion: a record without a state leads to a state that no application has.
func TestAdoptedOfAnEarlyVersion(t *testing.T) {
	b, result := aBackup(), aResult()
	result.Existing = job.NewExisting(archive.Info{TakenAt: now}, v1alpha1.BackupContents{})
	b.Status = Adopted(b, result)
	if held := plan.BackedUpState(b); held.Change != "" || held.Replicas != -1 {
		t.Errorf("it holds %+v", held)
	}
}

// TestMissing: the status says when the data disappears and returns, and keeps the rest.
func TestMissing(t *testing.T) {
	s := aSnapshot()
	b := aBackup()
	b.Status = Completed(b, &s, aResult())
	first := b.Status.DeepCopy()
	b.Status = Missing(b)
	if plan.Good(b) || !plan.Lost(b) || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCompleted) {
		t.Errorf("its data is gone: %+v", b.Status.Conditions)
	}
	b.Status = DataFoundAgain(b)
	if plan.Good(b) || plan.Lost(b) || !plan.Written(b) {
		t.Errorf("its data is there again: %+v", b.Status.Conditions)
	}
	again := aResult()
	again.CompletedAt = new(now.Add(time.Hour))
	b.Status = Adopted(b, again)
	if !plan.Good(b) || !b.Status.CompletionTime.Equal(first.CompletionTime) || *b.Status.Source != *first.Source || b.Status.Contents == nil {
		t.Errorf("it was verified: %+v", b.Status)
	}
}

func TestListed(t *testing.T) {
	p := &v1alpha1.NginxBackupPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	condition := func() metav1.Condition {
		return *meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionListed)
	}
	ListingInProgress(p, &p.Status)
	if c := condition(); c.Status != metav1.ConditionUnknown || p.Status.LastListingTime != nil {
		t.Errorf("while it is listed: %+v", c)
	}
	NotListed(p, &p.Status, v1alpha1.ReasonStoreDenied, "wrong key")
	if c := condition(); c.Status != metav1.ConditionFalse || c.Message != "wrong key" {
		t.Errorf("when it fails: %+v", c)
	}
	Listed(p, &p.Status, &listing.Report{Backups: 3, Skipped: 1, Why: "web/x: it cannot be"}, now)
	c := condition()
	if c.Status != metav1.ConditionTrue || c.ObservedGeneration != 2 || !p.Status.LastListingTime.Time.Equal(now) ||
		c.Message != "3 backups of this namespace are in the destination; 1 of them is ignored: web/x: it cannot be" {
		t.Errorf("when it is listed: %+v", c)
	}
}
