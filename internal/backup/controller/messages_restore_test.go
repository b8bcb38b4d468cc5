package controller_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/test/golden"
)

func aRestore(change ...func(*v1alpha1.NginxRestore)) *v1alpha1.NginxRestore {
	r := &v1alpha1.NginxRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "back", UID: "fedcba98-7654", Generation: 1},
		Spec: v1alpha1.NginxRestoreSpec{
			Backup:     &v1alpha1.BackupReference{Name: "web-1"},
			Items:      []v1alpha1.RestoreItem{v1alpha1.RestoreSpec, v1alpha1.RestoreConfiguration, v1alpha1.RestoreContent},
			OnConflict: v1alpha1.ConflictRefuse,
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func fromLocation(url, path string) func(*v1alpha1.NginxRestore) {
	return func(r *v1alpha1.NginxRestore) {
		r.Spec.Backup, r.Spec.Location = nil, &v1alpha1.BackupLocation{Destination: v1alpha1.Destination{URL: url}, Path: path}
	}
}

func completed(b *v1alpha1.NginxBackup) { b.Status = outcome.Completed(b, nil, completedResult) }

// servePod lets the pod of the read job serve a backup of a namespace, whose application has a ConfigMap,
// and a PersistentVolumeClaim unless claim is empty.
func (s *stage) servePod(namespace, claim string) {
	s.t.Helper()
	s.startPod(corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.7",
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	})
	info := archive.Info{
		Format: archive.Format, Name: "web-1", Namespace: namespace, ConfigRevision: "6f1ed002ab",
		Application: archive.Application{Name: "web", UID: "89abcdef-4567", Generation: 1},
	}
	content := ""
	if claim != "" {
		info.Content = []archive.Volume{{Claim: claim, MountPath: "/srv/films"}}
		content = `,"content":[{"mountPath":"/srv/films","persistentVolumeClaim":{"claimName":"` + claim + `"}}]`
	}
	application := `{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator","metadata":{"namespace":"` + namespace +
		`","name":"web"},"spec":{"config":{"configMap":{"name":"conf"}}` + content + `}}`
	configMap := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"` + namespace + `","name":"conf"},"data":{"nginx.conf":"events {}"}}`
	s.pod.handler = declarations.Handler(job.RestoreAuthToken(aRestore()), declarations.BackupInfo{Info: info, SHA256: "ab12"}, []archive.File{
		{Path: archive.ApplicationPath, Data: []byte(application)}, {Path: archive.ConfigMapsFolder + "conf.yaml", Data: []byte(configMap)},
	})
}

// TestRestoreMessages renders what a pass over an NginxRestore reports.
func TestRestoreMessages(t *testing.T) {
	var messages golden.Messages
	newStage(t, &messages, 1, aRestore()).reconcile(aRestore())
	newStage(t, &messages, 1, aBackup(), aRestore()).reconcile(aRestore())
	for _, r := range []*v1alpha1.NginxRestore{
		aRestore(fromLocation("s3://backups/nginx", "blog/web/web-1-01234567")), aRestore(fromLocation("s3://backups/nginx?color=red", "shop/web/web-1-01234567")),
	} {
		newStage(t, &messages, 1, r).reconcile(r)
	}
	newStage(t, &messages, 0, aBackup(completed), aRestore()).reconcile(aRestore())
	newStageThatRefuses(t, &messages, 1, refuseJobs, aBackup(completed), aRestore()).reconcile(aRestore())
	failToRead(t, &messages)
	refuseToRestore(t, &messages)
	restoreOnce(t, &messages)
	messages.Compare(t, "restores.txt")
}

// failToRead renders why a backup cannot be read.
func failToRead(t *testing.T, messages *golden.Messages) {
	t.Helper()
	r := aRestore()
	s := newStage(t, messages, 1, aBackup(completed), r)
	s.reconcile(r)
	s.reconcile(r)
	s.end(1, "")
	s.reconcile(r)

	r = aRestore()
	s = newStage(t, messages, 1, aBackup(completed), r)
	s.reconcile(r)
	s.servePod("shop", "")
	s.pod.handler = nil
	s.reconcile(r)

	r = aRestore()
	s = newStage(t, messages, 1, aBackup(completed), r)
	s.reconcile(r)
	s.servePod("blog", "")
	s.reconcile(r)
	if !outcome.RestoreFinished(r) {
		t.Errorf("a backup of another namespace is restored: %+v", r.Status.Conditions)
	}
}

// refuseToRestore renders why a backup that was read is not restored.
func refuseToRestore(t *testing.T, messages *golden.Messages) {
	t.Helper()
	deleting := anApplication()
	deleting.Finalizers, deleting.DeletionTimestamp = []string{"example.com/keep"}, new(metav1.NewTime(now))
	changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "conf"}, Data: map[string]string{"nginx.conf": "events { worker_connections 8; }"}}
	other := aRestore(func(r *v1alpha1.NginxRestore) { r.Name, r.UID, r.Status.Target = "earlier", "11111111-2222", "web" })
	for _, object := range []client.Object{deleting, changed, other} {
		r := aRestore()
		s := newStage(t, messages, 1, aBackup(completed), r, object)
		s.reconcile(r)
		s.servePod("shop", "")
		s.reconcile(r)
	}
	refuseConfigMaps := func(o client.Object) error {
		if _, ok := o.(*corev1.ConfigMap); ok {
			return overQuota(o, corev1.Resource("configmaps"))
		}
		return nil
	}
	r := aRestore()
	s := newStageThatRefuses(t, messages, 1, refuseConfigMaps, aBackup(completed), r)
	s.reconcile(r)
	s.servePod("shop", "")
	s.reconcile(r)
}

// restoreOnce renders a restore from the first job to the application that serves it.
func restoreOnce(t *testing.T, messages *golden.Messages) {
	t.Helper()
	r := aRestore()
	s := newStage(t, messages, 1, aBackup(completed), r)
	s.reconcile(r)
	s.servePod("shop", "films")
	s.reconcile(r)
	s.reconcile(r)

	r = aRestore()
	s = newStage(t, messages, 1, aBackup(completed), r)
	s.reconcile(r)
	s.servePod("shop", "")
	s.reconcile(r)
	if r.Status.CompletionTime == nil {
		t.Fatalf("nothing is restored: %+v", r.Status.Conditions)
	}
	nginx := &v1alpha2.NginxOperator{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(anApplication()), nginx); err != nil {
		t.Fatal(err)
	}
	nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonMinimumReplicasUnavailable,
		Message: "0 pods serve; at least 1 is required (spec.replicas minus rollout.maxUnavailable)", LastTransitionTime: metav1.NewTime(now)}}
	nginx.Status.Config = &v1alpha2.ConfigStatus{Revision: "6f1ed002ab", StableRevision: "6f1ed002ab"}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue} {
		nginx.Status.Conditions[0].Status = status
		if err := s.client.Status().Update(t.Context(), nginx); err != nil {
			t.Fatal(err)
		}
		s.clock.SetTime(now.Add(2 * time.Minute))
		s.reconcile(r)
	}
}
