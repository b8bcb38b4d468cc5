package backup

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/standin"
)

// TestChange: a policy takes the first backup, one for a burst of changes, and one for another
// number of replicas, and its status shows that.
func TestChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	policy := b.policy(settle(1))
	first := b.waitBackups(1)[0]
	if first.Spec.Trigger != v1alpha1.TriggerChange || first.Status.Source.Generation != nginx.Generation || first.Status.Reason != "the first backup" {
		t.Errorf("the first backup: %+v", first)
	}
	// A busy machine may take longer than a second between two edits.
	b.setSettle(policy, 600)
	for i := range 10 {
		edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.ForceRedeploy = new(fmt.Sprintf("edit %d", i)) })
		time.Sleep(50 * time.Millisecond)
	}
	b.setSettle(policy, 1)
	second := b.waitBackups(2)[1]
	if second.Spec.Trigger != v1alpha1.TriggerChange || second.Status.Source.Generation != nginx.Generation {
		t.Errorf("the backup of the burst: %+v", second)
	}
	if document := b.document(&second, "nginxoperator.yaml"); !strings.Contains(document, "edit 9") {
		t.Errorf("the backup does not hold the last state:\n%s", document)
	}
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(3)) })
	third := b.waitBackups(3)[2]
	if third.Spec.Trigger != v1alpha1.TriggerScale || third.Status.Source.Replicas != 3 || third.Status.Reason != "replicas 1 to 3" {
		t.Errorf("the backup after scaling: %+v", third)
	}
	b.settled()
	b.waitBackups(3)
	b.verify()
	upToDate(t, policy, 3)
}

// setSettle changes how long a policy gathers changes, and waits until the operator has seen that.
func (b *bench) setSettle(policy *v1alpha1.NginxBackupPolicy, seconds int32) {
	b.t.Helper()
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) { settle(seconds)(&policy.Spec) })
	b.eventually("the operator has seen the policy", func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		if n := policy.Status.ObservedGeneration; n != policy.Generation {
			return fmt.Errorf("it has seen generation %d of %d", n, policy.Generation)
		}
		return nil
	})
}

func upToDate(t *testing.T, policy *v1alpha1.NginxBackupPolicy, n int32) {
	t.Helper()
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
	if !meta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionReady) || policy.Status.Backups != n || policy.Status.Targets != 1 {
		t.Errorf("the policy's status: %+v", policy.Status)
	}
}

// TestIdle: when everything is settled, nothing is written, not even by an operator that starts
// then.
func TestIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	b.policy(keepLast(1))
	b.waitBackups(1)
	edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(2)) })
	b.eventually("the second backup is there, and the first one is gone", func() error {
		if all := b.backups(); len(all) != 1 || all[0].Status.Source == nil || all[0].Status.Source.Replicas != 2 {
			return fmt.Errorf("there are %d", len(all))
		}
		return nil
	})
	b.waitBackups(1)
	b.settled()
	b.restart()
	if n := b.settled(); n > 0 {
		t.Errorf("a restarted operator writes:\n%s", strings.Join(b.operator.wrote(), "\n"))
	}
	b.verify()
}

// TestTwoLeaders: two operators at once, as after a pause of the leader, take the backups of one.
func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	second := startOperator(t, b.namespace)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	b.policy()
	for i := range 4 {
		b.waitBackups(i + 1)
		edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.ForceRedeploy = new(fmt.Sprint(i)) })
	}
	b.waitBackups(5)
	b.settled()
	b.waitBackups(5)
	b.verify()
	// One of them may be late and start a job that finds the existing backup.
	t.Logf("%d jobs for 5 backups", len(b.place.Started()))
	second.stop()
}

// TestDestinationChanged: a backup that fails at a destination that the policy no longer uses is
// deleted and does not hold up the next one.
func TestDestinationChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		args := j.Spec.Template.Spec.Containers[0].Args
		return standin.Fate{Killed: args[0] == "create" && strings.Contains(strings.Join(args, " "), "wrong")}
	})
	policy := b.policy(func(spec *v1alpha1.NginxBackupPolicySpec) { spec.Destination.URL = "pvc://wrong/folder" })
	b.eventually("the backup does not come about", func() error {
		if all := b.backups(); len(all) != 1 || len(all[0].Status.Conditions) == 0 || all[0].Status.Conditions[0].Reason != v1alpha1.ReasonJobFailed {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) { policy.Spec.Destination.URL = claimURL })
	b.eventually("the backup is at the new place", func() error {
		if all := b.backups(); len(all) != 1 || all[0].Spec.Destination.URL != claimURL {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	b.waitBackups(1)
	b.verify()
}

// TestRetention: expired backups are deleted with their data, and so are deleted ones with the
// deletion policy Delete. All others stay.
func TestRetention(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nginx := b.application("web", v1alpha2.NginxOperatorSpec{})
	policy := b.policy()
	for i := range 3 {
		b.waitBackups(i + 1)
		edit(b, nginx, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.ForceRedeploy = new(fmt.Sprint(i)) })
	}
	newest := b.waitBackups(4)[2:]
	edit(b, policy, func(policy *v1alpha1.NginxBackupPolicy) {
		policy.Spec.Retention = &v1alpha1.Retention{KeepLast: new(int32(2))}
	})
	kept := b.waitBackups(2)
	for i := range kept {
		if kept[i].Name != newest[i].Name || len(kept[i].Finalizers) > 0 {
			t.Errorf("kept: %s %v, want %s", kept[i].Name, kept[i].Finalizers, newest[i].Name)
		}
	}
	b.verify()

	// The backups of a deleted policy stay.
	must(t, kube.Delete(t.Context(), policy))
	must(t, kube.Delete(t.Context(), nginx))
	b.settled()
	b.waitBackups(2)
	b.verify()

	retained, deleted := kept[0], kept[1]
	edit(b, &deleted, func(backup *v1alpha1.NginxBackup) { backup.Spec.DeletionPolicy = v1alpha1.Delete })
	b.eventually("the backup waits for its data", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(&deleted), &deleted); err != nil {
			return err
		}
		if len(deleted.Finalizers) != 1 {
			return fmt.Errorf("finalizers: %v", deleted.Finalizers)
		}
		return nil
	})
	must(t, kube.Delete(t.Context(), &deleted))
	b.waitBackups(1)
	b.verify()
	must(t, kube.Delete(t.Context(), &retained))
	b.eventually("the last object is gone", func() error {
		if n := len(b.backups()); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	b.settled()
	if files := b.claimFiles("folder"); len(files) != 2 {
		t.Errorf("of a backup that is to be retained there is %v", slices.Sorted(maps.Keys(files)))
	}
}

// TestReferences: a backup leaves out a missing ConfigMap, and a snapshot that is too large for one
// ConfigMap takes several.
func TestReferences(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	content := []v1alpha2.Content{}
	for i := range 3 {
		name := fmt.Sprintf("large-%d", i)
		b.largeConfigMap(name)
		content = append(content, v1alpha2.Content{MountPath: "/srv/" + name, ConfigMap: &v1alpha2.ConfigMapReference{Name: name}})
	}
	content = append(content, v1alpha2.Content{MountPath: "/srv/missing", ConfigMap: &v1alpha2.ConfigMapReference{Name: "missing"}})
	b.application("web", v1alpha2.NginxOperatorSpec{Content: content})
	release := make(chan struct{})
	b.place.Fail(func(*batchv1.Job) standin.Fate { return standin.Fate{Hold: release} })
	b.backup("manual", "web", claimURL)
	b.eventually("the job runs", func() error {
		if len(b.place.Started()) == 0 {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	pieces := 0
	for _, name := range b.left() {
		if strings.HasPrefix(name, "ConfigMap ") {
			pieces++
		}
	}
	if pieces < 3 {
		t.Errorf("the state is in %d ConfigMaps", pieces)
	}
	close(release)
	made := b.waitBackups(1)[0]
	if names := made.Status.Contents.ConfigMaps; !slices.Equal(names, []string{"large-0", "large-1", "large-2"}) {
		t.Errorf("ConfigMaps in the backup: %v", names)
	}
	if len(b.document(&made, "configmaps/large-2.yaml")) < 1_000_000 {
		t.Error("a ConfigMap is not whole")
	}
	b.verify()
}

// largeConfigMap creates a ConfigMap with a megabyte that cannot be compressed.
func (b *bench) largeConfigMap(name string) {
	b.t.Helper()
	data := make([]byte, 1_000_000)
	_, err := rand.Read(data)
	must(b.t, err)
	must(b.t, kube.Create(b.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, BinaryData: map[string][]byte{"file": data},
	}))
}

// TestTargetComes: a backup of an application that does not exist waits for it.
func TestTargetComes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup("manual", "web", claimURL)
	b.waitReason("manual", v1alpha1.ReasonTargetNotFound)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.waitBackups(1)
	b.verify()
}

// TestJobs: no more jobs run at the same time than allowed, whether they write or delete, and all
// get their turn.
func TestJobs(t *testing.T) {
	t.Parallel()
	const targets, limit = 6, 2
	b := newBench(t, func(o *manager.Options) { o.BackupJobs = limit })
	for i := range targets {
		b.application(fmt.Sprintf("web-%d", i), v1alpha2.NginxOperatorSpec{})
	}
	policy := b.policy()
	made := b.waitBackups(targets)
	if b.place.Most() > limit {
		t.Errorf("%d jobs ran at a time, %d are allowed", b.place.Most(), limit)
	}
	b.verify()
	must(t, kube.Delete(t.Context(), policy))
	b.settled()
	for i := range made {
		edit(b, &made[i], func(backup *v1alpha1.NginxBackup) { backup.Spec.DeletionPolicy = v1alpha1.Delete })
		b.eventually("the finalizer is there", func() error {
			must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(&made[i]), &made[i]))
			if len(made[i].Finalizers) == 0 {
				return fmt.Errorf("it is not")
			}
			return nil
		})
	}
	must(t, kube.DeleteAllOf(t.Context(), &v1alpha1.NginxBackup{}, client.InNamespace(b.namespace)))
	b.waitBackups(0)
	if b.place.Most() > limit {
		t.Errorf("%d jobs ran at a time, %d are allowed", b.place.Most(), limit)
	}
	b.verify()
}

// TestNewBackupOfTheSameName: a new backup is not confused with a deleted one of the same name.
func TestNewBackupOfTheSameName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	for range 2 {
		old := b.backup("manual", "web", claimURL, func(spec *v1alpha1.NginxBackupSpec) { spec.DeletionPolicy = v1alpha1.Delete })
		b.waitBackups(1)
		must(t, kube.Delete(t.Context(), old))
		b.eventually("it is gone", func() error {
			err := kube.Get(t.Context(), client.ObjectKeyFromObject(old), &v1alpha1.NginxBackup{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is not: %w", err)
		})
	}
	b.backup("manual", "web", claimURL)
	b.waitBackups(1)
	b.verify()
}
