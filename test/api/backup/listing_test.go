package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/standin"
)

// forget deletes the policy and all backup objects but leaves the store as it is, so the operator
// finds it like a new cluster would.
func (b *bench) forget() {
	b.t.Helper()
	must(b.t, kube.DeleteAllOf(b.t.Context(), &v1alpha1.NginxBackupPolicy{}, client.InNamespace(b.namespace)))
	b.settled()
	must(b.t, kube.DeleteAllOf(b.t.Context(), &v1alpha1.NginxBackup{}, client.InNamespace(b.namespace)))
	b.waitBackups(0)
}

// waitListed waits until a policy reports the result of its listing.
func (b *bench) waitListed(policy *v1alpha1.NginxBackupPolicy, status metav1.ConditionStatus, reason, words string) {
	b.t.Helper()
	b.eventually("the policy says "+reason, func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionListed)
		if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// listings returns how many jobs have listed.
func (b *bench) listings() int {
	n := 0
	for _, name := range b.place.Started() {
		if strings.HasPrefix(name, "all-l") {
			n++
		}
	}
	return n
}

// TestDeletedComesBack: if the object of a backup is deleted and its data stays, the object is
// recreated and counts as before, and no further backup is taken.
func TestDeletedComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	policy := b.policy()
	b.waitBackups(1)
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(2)) })
	before := b.waitBackups(2)[1]
	b.waitListed(policy, metav1.ConditionTrue, v1alpha1.ReasonListed, "")
	must(t, kube.Delete(t.Context(), &before))
	b.eventually("it is back", func() error {
		after := &v1alpha1.NginxBackup{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(&before), after); err != nil {
			return err
		}
		if after.UID == before.UID || !plan.Good(after) {
			return fmt.Errorf("it is %+v", after.Status.Conditions)
		}
		return nil
	})
	found := b.waitBackups(2)
	after := found[slices.IndexFunc(found, func(x v1alpha1.NginxBackup) bool { return x.Name == before.Name })]
	if after.Spec.Existing == nil || after.Labels[v1alpha1.LabelPolicy] != "all" || after.Spec.Trigger != before.Spec.Trigger {
		t.Errorf("it is %+v %+v", after.ObjectMeta, after.Spec)
	}
	// The conditions describe how the object was created, which differs.
	before.Status.Conditions, after.Status.Conditions = nil, nil
	if diff := cmp.Diff(before.Status, after.Status); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	// This is longer than the operator waits for a backup that may come back.
	time.Sleep(11 * time.Second)
	b.settled()
	b.waitBackups(2)
	b.verify()
	upToDate(t, policy, 2)
}

// TestNewCluster: a policy that finds a store with backups creates objects for them. Those of the
// policy count for it, with its retention, and others stay.
func TestNewCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	b.policy()
	for i := range 3 {
		b.waitBackups(i + 1)
		edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.ForceRedeploy = new(fmt.Sprint(i)) })
	}
	b.waitBackups(4)
	b.backup("manual", "web", claimURL)
	before := b.waitBackups(5)
	b.forget()

	policy := b.policy(settle(5))
	after := b.waitBackups(5)
	for i := range after {
		old := before[slices.IndexFunc(before, func(x v1alpha1.NginxBackup) bool { return x.Name == after[i].Name })]
		if after[i].Status.Digest != old.Status.Digest || after[i].Labels[v1alpha1.LabelPolicy] != old.Labels[v1alpha1.LabelPolicy] {
			t.Errorf("before: %+v\nafter: %+v", old, after[i])
		}
	}
	b.settled()
	b.waitBackups(5)
	upToDate(t, policy, 4)
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) {
		policy.Spec.Retention = &v1alpha1.Retention{KeepLast: new(int32(1))}
	})
	kept := b.waitBackups(2)
	for i := range kept {
		if kept[i].Name != "manual" && kept[i].Status.Source.Generation != nginx.Generation {
			t.Errorf("kept: %+v", kept[i])
		}
	}
	b.settled()
	b.waitBackups(2)
	b.verify()
}

// TestManyFound: all backups are found even if there are more than one termination message can
// name, because each listing continues where the previous one ended. Two policies with the same
// destination create the same objects.
func TestManyFound(t *testing.T) {
	t.Parallel()
	const many = 35
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	for i := range many {
		b.backup(fmt.Sprintf("manual-before-the-sale-of-the-year-%d", i), "web", claimURL)
	}
	b.waitBackups(many)
	b.forget()
	policy := b.policy(func(spec *v1alpha1.NginxBackupPolicySpec) {
		spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"backed": "up"}}
	})
	second := policy.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: b.namespace, Name: "second"}
	must(t, kube.Create(t.Context(), second))
	found := b.waitBackups(many)
	for i := range found {
		if found[i].Labels[v1alpha1.LabelPolicy] != "" {
			t.Errorf("%s was made by nobody's policy, and is labelled %v", found[i].Name, found[i].Labels)
		}
	}
	for _, p := range []*v1alpha1.NginxBackupPolicy{policy, second} {
		b.waitListed(p, metav1.ConditionTrue, v1alpha1.ReasonListed, fmt.Sprintf("%d backups", many))
	}
	b.verify()
	t.Logf("%d listings", b.listings())
}

// TestNameTaken: if another object has the name of a found backup, the backup gets another name,
// and only one object.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.backup("manual", "web", claimURL)
	old := b.waitBackups(1)[0]
	b.forget()
	b.backup("manual", "web", claimURL)
	b.waitBackups(1)
	policy := b.policy(scheduledOnly)
	b.waitListed(policy, metav1.ConditionTrue, v1alpha1.ReasonListed, "2 backups")
	found := b.waitBackups(2)
	want := "manual-" + string(old.UID)[:8]
	if !slices.ContainsFunc(found, func(x v1alpha1.NginxBackup) bool { return x.Name == want && x.Status.Digest == old.Status.Digest }) {
		t.Errorf("there is no %s: %v", want, b.state())
	}
	b.restart()
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) { policy.Spec.Triggers.Schedule.Cron = "@yearly" })
	b.settled()
	b.waitBackups(2)
	b.verify()
}

func scheduledOnly(spec *v1alpha1.NginxBackupPolicySpec) {
	spec.Triggers = v1alpha1.Triggers{Schedule: &v1alpha1.ScheduleTrigger{Cron: "0 0 1 1 *", TimeZone: "Etc/UTC"}}
}

// TestDataMissing: deleted data is reported, and a backup without data does not count. Data that is
// put back is verified and counts again.
func TestDataMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *manager.Options) { o.BackupListingPeriod = 2 * time.Second })
	b.application("web", v1alpha2.NginxOperatorSpec{})
	policy := b.policy()
	first := b.waitListedBackup()
	folder, away := filepath.Join(b.place.Claim, "folder", job.Key(&first)), filepath.Join(b.place.Content, "away")
	must(t, os.Rename(folder, away))
	b.waitVerified(first.Name, metav1.ConditionFalse, v1alpha1.ReasonDataMissing)
	b.eventually("another backup takes its place", func() error {
		found := b.backups()
		if len(found) != 2 || !slices.ContainsFunc(found, func(x v1alpha1.NginxBackup) bool { return plan.Good(&x) }) {
			return fmt.Errorf("there are %d", len(found))
		}
		return nil
	})
	b.eventually("one counts", func() error {
		must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
		if policy.Status.Backups != 1 {
			return fmt.Errorf("%d do", policy.Status.Backups)
		}
		return nil
	})
	must(t, os.Rename(away, folder))
	b.waitVerified(first.Name, metav1.ConditionTrue, v1alpha1.ReasonVerified)
	for _, backup := range b.backups() {
		if backup.Name == first.Name && !backup.Status.CompletionTime.Equal(first.Status.CompletionTime) {
			t.Errorf("it was completed %s, and says %s", first.Status.CompletionTime, backup.Status.CompletionTime)
		}
	}
	b.verify()
}

// waitListedBackup waits for the first backup of the policy all while listings run.
func (b *bench) waitListedBackup() v1alpha1.NginxBackup {
	b.t.Helper()
	var found []v1alpha1.NginxBackup
	b.eventually("there is a good backup", func() error {
		if found = b.backups(); len(found) != 1 {
			return fmt.Errorf("there are %d", len(found))
		}
		return allGood(found)
	})
	return found[0]
}

func (b *bench) waitVerified(name string, status metav1.ConditionStatus, reason string) {
	b.t.Helper()
	b.eventually(name+" says "+reason, func() error {
		backup := &v1alpha1.NginxBackup{}
		if err := kube.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: name}, backup); err != nil {
			return err
		}
		c := meta.FindStatusCondition(backup.Status.Conditions, v1alpha1.ConditionVerified)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// TestListingFails: while listings fail, the policy reports why, backups are taken, and nothing is
// reported as missing. The policy recovers by itself.
func TestListingFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		return standin.Fate{Killed: j.Labels[job.LabelTask] == string(job.List)}
	})
	policy := b.policy()
	b.waitListed(policy, metav1.ConditionFalse, v1alpha1.ReasonJobFailed, "all-l1")
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(2)) })
	b.eventually("there are two backups", func() error {
		if found := b.backups(); len(found) != 2 {
			return fmt.Errorf("there are %d", len(found))
		}
		return allGood(b.backups())
	})
	b.place.Fail(nil)
	b.waitListed(policy, metav1.ConditionTrue, v1alpha1.ReasonListed, "2 backups")
	b.waitBackups(2)

	away := b.place.Claim + "-away"
	must(t, os.Rename(b.place.Claim, away))
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) {
		policy.Spec.Retention = &v1alpha1.Retention{KeepLast: new(int32(5))}
	})
	b.waitListed(policy, metav1.ConditionFalse, v1alpha1.ReasonStoreNotFound, "backups does not exist")
	must(t, allGood(b.backups()))
	must(t, os.Rename(away, b.place.Claim))
	b.waitListed(policy, metav1.ConditionTrue, v1alpha1.ReasonListed, "2 backups")
	b.waitBackups(2)
	b.verify()
}

// TestForeignFiles: other files in the store are left alone and reported.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.backup("manual", "web", claimURL)
	made := b.waitBackups(1)[0]
	root := filepath.Join(b.place.Claim, "folder", b.namespace)
	must(t, os.CopyFS(filepath.Join(root, "other", filepath.Base(job.Key(&made))), os.DirFS(filepath.Join(b.place.Claim, "folder", job.Key(&made)))))
	for _, name := range []string{"backup.json", "web/backup.json", "web/none-01234567/backup.json", "web/..-01234567/backup.json", "web/a b/c/backup.json", "web/notes.txt"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(root, name), []byte("{}"), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(root, "web/none-01234567/data-1-x.tar.gz"), []byte("{}"), 0o600))
	policy := b.policy(scheduledOnly)
	b.waitListed(policy, metav1.ConditionTrue, v1alpha1.ReasonListed, "7 backups of this namespace are in the destination; 6 of them are ignored: ")
	b.settled()
	if found := b.waitBackups(1); found[0].UID != made.UID {
		t.Errorf("found %+v", found[0])
	}
}

// TestExistingByHand: a user can refer to a backup in the store. Data that is not a backup of this
// namespace is rejected and never deleted.
func TestExistingByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.backup("manual", "web", claimURL)
	old := b.waitBackups(1)[0]
	b.forget()
	at := func(path string) func(*v1alpha1.NginxBackupSpec) {
		return func(spec *v1alpha1.NginxBackupSpec) {
			spec.Existing, spec.DeletionPolicy = &v1alpha1.ExistingBackup{Path: path}, v1alpha1.Delete
		}
	}
	elsewhere := b.backup("elsewhere", "web", claimURL, at("kube-system/web/manual-01234567"))
	b.waitReason("elsewhere", v1alpha1.ReasonPathInvalid)
	nothing := b.backup("nothing", "web", claimURL, at(b.namespace+"/web/manual-01234567"))
	b.waitReason("nothing", v1alpha1.ReasonStoreNotFound)
	for _, backup := range []*v1alpha1.NginxBackup{elsewhere, nothing} {
		must(t, kube.Delete(t.Context(), backup))
	}
	b.waitBackups(0)
	imported := b.backup("imported", "web", claimURL, at(job.Key(&old)))
	if found := b.waitBackups(1)[0]; found.Status.Digest != old.Status.Digest || *found.Status.Source != *old.Status.Source {
		t.Errorf("imported %+v", found.Status)
	}
	b.verify()
	b.eventually("it waits for its data", func() error {
		must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(imported), imported))
		if len(imported.Finalizers) == 0 {
			return errors.New("it does not")
		}
		return nil
	})
	must(t, kube.Delete(t.Context(), imported))
	b.waitBackups(0)
	b.verify()
}

// TestDamagedFound: a damaged backup in the store is reported and read again only a few times. The
// policy takes another backup.
func TestDamagedFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.policy()
	made := b.waitBackups(1)[0]
	b.forget()
	archives, err := filepath.Glob(filepath.Join(b.place.Claim, "folder", job.Key(&made), "data-*"))
	must(t, err)
	must(t, os.Truncate(archives[0], 100))
	policy := b.policy()
	b.waitReason(made.Name, v1alpha1.ReasonDamaged)
	b.eventually("there is a good one", func() error {
		must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
		if !meta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionReady) || policy.Status.Backups != 1 {
			return fmt.Errorf("the policy says %+v", policy.Status)
		}
		return nil
	})
}
