package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/standin"
)

// TestPodFails: after a pod that is killed, or whose message is lost, another pod creates the
// backup or finds it.
func TestPodFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		if !strings.HasSuffix(j.Name, "1") {
			return standin.Fate{}
		}
		return standin.Fate{Killed: strings.HasPrefix(j.Name, "killed"), Unheard: strings.HasPrefix(j.Name, "unheard")}
	})
	for _, name := range []string{"killed", "unheard"} {
		b.backup(name, "web", claimURL, func(spec *v1alpha1.NginxBackupSpec) { spec.DeletionPolicy = v1alpha1.Delete })
		b.waitReason(name, v1alpha1.ReasonJobFailed)
	}
	found := b.waitBackups(2)
	b.verify()
	for i, want := range []string{"/data-2", "/data-1"} {
		if !strings.Contains(found[i].Status.Location, want) {
			t.Errorf("backup %s is %s, want %s", found[i].Name, found[i].Status.Location, want)
		}
	}
	must(t, kube.DeleteAllOf(t.Context(), &v1alpha1.NginxBackup{}, client.InNamespace(b.namespace)))
	b.waitBackups(0)
	b.verify()
}

// TestJobDeleted: two pods never write the same archive when the job of a writing pod is deleted.
// Its pod may go on for a while beside that of the next job, and one archive would be recorded
// while the other one is in the store.
func TestJobDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	folder := filepath.Join(b.place.Content, "films")
	must(t, os.Mkdir(folder, 0o700))
	film := filepath.Join(folder, "film")
	must(t, os.WriteFile(film, []byte("one"), 0o600))
	b.application("web", v1alpha2.NginxOperatorSpec{Content: []v1alpha2.Content{
		{MountPath: "/srv", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "films"}},
	}})
	o := newObjects(t)
	o.race = &race{arrived: make(chan struct{}), second: make(chan struct{}), done: make(chan struct{})}
	b.backup("manual", "web", o.url)
	<-o.race.arrived
	must(t, os.WriteFile(film, []byte("another"), 0o600))
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "manual-c1"}}
	must(t, kube.Delete(t.Context(), j, client.PropagationPolicy("Background")))
	found := b.waitBackups(1)
	b.verifyFiles(found, o.kept())
	if jobs := b.place.Started(); len(jobs) != len(slices.Compact(slices.Sorted(slices.Values(jobs)))) {
		t.Errorf("two jobs had the same name: %v", jobs)
	}
}

// TestDeletedWhileWriting: if an object is deleted while its data is being written, a job deletes
// the data once no pod writes any more.
func TestDeletedWhileWriting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	release := make(chan struct{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		if strings.HasSuffix(j.Name, "-c1") {
			return standin.Fate{Hold: release}
		}
		return standin.Fate{}
	})
	backup := b.backup("manual", "web", claimURL, func(spec *v1alpha1.NginxBackupSpec) { spec.DeletionPolicy = v1alpha1.Delete })
	b.eventually("the job's pod runs", func() error {
		pods := &corev1.PodList{}
		err := kube.List(t.Context(), pods, client.InNamespace(b.namespace))
		if err == nil && (len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("there is none")
		}
		return err
	})
	b.settled()
	must(t, kube.Delete(t.Context(), backup))
	b.settled()
	if jobs := b.place.Started(); len(jobs) != 1 {
		t.Errorf("jobs that were started while the first one writes: %v", jobs)
	}
	close(release)
	b.waitBackups(0)
	b.verify()
}
