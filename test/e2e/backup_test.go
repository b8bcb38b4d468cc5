//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/plan"
)

const bucket = "backups"

// inS3 returns a destination on a separate S3 server in the namespace.
func inS3(t *testing.T, namespace string) (*s3Server, backupv1alpha1.Destination) {
	t.Helper()
	server := startS3(t, namespace)
	server.makeBucket(t, bucket)
	server.secret(t, namespace, "s3")
	return server, backupv1alpha1.Destination{URL: server.location(bucket, "nginx"), Secret: &backupv1alpha1.SecretReference{Name: "s3"}}
}

// createPolicy creates a policy that backs up all applications of a namespace, two seconds after a
// change.
func createPolicy(t *testing.T, namespace string, destination backupv1alpha1.Destination, change ...func(*backupv1alpha1.NginxBackupPolicySpec)) *backupv1alpha1.NginxBackupPolicy {
	t.Helper()
	settle := &backupv1alpha1.ChangeTrigger{SettleSeconds: new(int32(2))}
	policy := &backupv1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"},
		Spec: backupv1alpha1.NginxBackupPolicySpec{
			Selector:    &metav1.LabelSelector{},
			Triggers:    backupv1alpha1.Triggers{Change: settle, Scale: settle},
			Destination: destination,
		},
	}
	for _, c := range change {
		c(&policy.Spec)
	}
	must(t, kube.Create(t.Context(), policy))
	return policy
}

func createBackup(t *testing.T, namespace, name, target string, destination backupv1alpha1.Destination, change ...func(*backupv1alpha1.NginxBackupSpec)) *backupv1alpha1.NginxBackup {
	t.Helper()
	backup := &backupv1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       backupv1alpha1.NginxBackupSpec{Target: backupv1alpha1.TargetReference{Name: target}, Destination: destination},
	}
	for _, c := range change {
		c(&backup.Spec)
	}
	must(t, kube.Create(t.Context(), backup))
	return backup
}

// backupsOf returns the backups of a namespace, in the order of their creation.
func backupsOf(t *testing.T, namespace string) []backupv1alpha1.NginxBackup {
	t.Helper()
	list := &backupv1alpha1.NginxBackupList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace)))
	slices.SortFunc(list.Items, func(a, b backupv1alpha1.NginxBackup) int {
		return strings.Compare(a.Annotations[backupv1alpha1.AnnotationSequence], b.Annotations[backupv1alpha1.AnnotationSequence])
	})
	return list.Items
}

// waitBackups waits until there are n good backups and returns them.
func waitBackups(t *testing.T, namespace string, n int) []backupv1alpha1.NginxBackup {
	t.Helper()
	var found []backupv1alpha1.NginxBackup
	eventually(t, fmt.Sprintf("%d good backups", n), func() error {
		found = backupsOf(t, namespace)
		good := 0
		var state strings.Builder
		for i := range found {
			if plan.Good(&found[i]) {
				good++
			}
			fmt.Fprintf(&state, "; %s (%s): %s", found[i].Name, found[i].Spec.Trigger, completed(&found[i]))
		}
		if good != n || len(found) != n {
			return fmt.Errorf("%d of %d are good%s", good, len(found), &state)
		}
		return nil
	})
	return found
}

func completed(b *backupv1alpha1.NginxBackup) string {
	c := meta.FindStatusCondition(b.Status.Conditions, backupv1alpha1.ConditionCompleted)
	if c == nil {
		return "nothing is reported"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// waitBackup waits until the Completed condition of a backup has a reason, and its message contains
// the texts.
func waitBackup(t *testing.T, b *backupv1alpha1.NginxBackup, reason string, texts ...string) {
	t.Helper()
	eventually(t, "the backup's reason is "+reason, func() error {
		if err := get(t, b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, backupv1alpha1.ConditionCompleted)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("%s", completed(b))
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("%q is not in: %s", text, c.Message)
			}
		}
		return nil
	})
}

// verifyInS3 reads and verifies a backup's archive directly from the store, and returns its
// documents by path.
func verifyInS3(t *testing.T, server *s3Server, b *backupv1alpha1.NginxBackup) map[string]string {
	t.Helper()
	key := strings.TrimPrefix(b.Status.Location, "s3://"+bucket+"/")
	record := key[:strings.LastIndex(key, "/")] + "/backup.json"
	commit, err := archive.ParseCommit(server.read(t, bucket, record))
	must(t, err)
	packed := server.read(t, bucket, key)
	_, err = archive.Verify(t.Context(), bytes.NewReader(packed), commit, archive.DefaultLimits())
	must(t, err)
	_, files, err := archive.ReadDocuments(t.Context(), bytes.NewReader(packed), commit, archive.DefaultLimits())
	must(t, err)
	documents := map[string]string{}
	for _, f := range files {
		documents[f.Path] = string(f.Data)
	}
	if digest := "sha256:" + commit.SHA256; digest != b.Status.Digest || int64(len(packed)) != b.Status.SizeBytes {
		t.Errorf("the status has %d bytes, %s; the archive has %d, %s", b.Status.SizeBytes, b.Status.Digest, len(packed), digest)
	}
	return documents
}

// followed is an application whose changes a policy backs up.
type followed struct {
	server *s3Server
	source *corev1.ConfigMap
	nginx  *v1alpha2.NginxOperator
	policy *backupv1alpha1.NginxBackupPolicy
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	namespace := newNamespace(t)
	server, destination := inS3(t, namespace)
	f := &followed{server: server, source: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "site"},
		Data:       map[string]string{"site.conf": siteSaying("one")},
	}}
	must(t, kube.Create(t.Context(), f.source))
	f.nginx = createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "site"}}, Ports: ports(8080),
	})
	f.policy = createPolicy(t, namespace, destination)
	return f
}

// TestBackupsFollowChanges: changes that have settled produce one backup, with what was served.
// Retention deletes the data of old backups, and deleting the application deletes none.
func TestBackupsFollowChanges(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	first := waitBackups(t, f.nginx.Namespace, 1)[0]
	f.checkFirst(t, &first)

	// A burst of changes to the spec and to the ConfigMap.
	for i := range 5 {
		edit(t, f.nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.ForceRedeploy = new(fmt.Sprint(i)) })
	}
	update(t, f.source, func() { f.source.Data["site.conf"] = siteSaying("two") })
	waitAnswer(t, f.nginx, "two")
	second := waitBackups(t, f.nginx.Namespace, 2)[1]
	if served := verifyInS3(t, f.server, &second)["config/served/site.conf"]; second.Spec.Trigger != backupv1alpha1.TriggerChange || !strings.Contains(served, "two") {
		t.Errorf("in the second backup, made by %s, is served: %s", second.Spec.Trigger, served)
	}

	edit(t, f.nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Replicas = new(int32(2)) })
	third := waitBackups(t, f.nginx.Namespace, 3)[2]
	if third.Spec.Trigger != backupv1alpha1.TriggerScale || third.Status.Reason != "replicas 1 to 2" {
		t.Errorf("the third backup was made by %s: %s", third.Spec.Trigger, third.Status.Reason)
	}
	waitPolicy(t, f.policy, metav1.ConditionTrue, backupv1alpha1.ReasonUpToDate)
	if s := f.policy.Status; s.Targets != 1 || s.Backups != 3 || s.LastBackupTime == nil {
		t.Errorf("the policy has %d targets and %d backups, the last at %v", s.Targets, s.Backups, s.LastBackupTime)
	}
	f.checkKeys(t, 3)
	f.retain(t, third.Name)
	f.comeBack(t, &third)
	must(t, kube.Delete(t.Context(), f.nginx))
	waitPolicy(t, f.policy, metav1.ConditionFalse, backupv1alpha1.ReasonNoTargets)
	if left := backupsOf(t, f.nginx.Namespace); len(left) != 1 {
		t.Errorf("without the application, %d backups are left", len(left))
	}
}

func (f *followed) checkFirst(t *testing.T, first *backupv1alpha1.NginxBackup) {
	t.Helper()
	documents := verifyInS3(t, f.server, first)
	for path, texts := range map[string]string{
		"nginxoperator.yaml":      "name: site",
		"configmaps/site.yaml":    "one",
		"config/served/site.conf": "one",
		"config/asked/site.conf":  "one",
		"revisions/1.yaml":        "kind: ControllerRevision",
	} {
		if !strings.Contains(documents[path], texts) {
			t.Errorf("%s is %q, want …%s…", path, documents[path], texts)
		}
	}
	if s := first.Status.Source; s == nil || s.ServedRevision == "" || s.ImageDigest == "" {
		t.Errorf("the status has the source: %+v", s)
	}
}

// checkKeys fails the test unless the store holds two objects for each backup.
func (f *followed) checkKeys(t *testing.T, backups int) {
	t.Helper()
	if keys := f.server.keys(t, bucket, "nginx/"); len(keys) != 2*backups {
		t.Errorf("in the store are %q, want two objects of each of %d backups", keys, backups)
	}
}

// retain keeps only the last backup.
func (f *followed) retain(t *testing.T, last string) {
	t.Helper()
	update(t, f.policy, func() { f.policy.Spec.Retention = &backupv1alpha1.Retention{KeepLast: new(int32(1))} })
	if left := waitBackups(t, f.nginx.Namespace, 1)[0]; left.Name != last {
		t.Errorf("backup %s is left, the last good one is %s", left.Name, last)
	}
	f.checkKeys(t, 1)
}

// comeBack deletes the object of the last backup and checks that it is recreated with the same
// content.
func (f *followed) comeBack(t *testing.T, last *backupv1alpha1.NginxBackup) {
	t.Helper()
	must(t, kube.Delete(t.Context(), last, client.Preconditions{UID: &last.UID}))
	eventually(t, "the backup is back", func() error {
		all := backupsOf(t, f.nginx.Namespace)
		if len(all) != 1 || all[0].UID == last.UID || all[0].Status.CompletionTime == nil {
			return fmt.Errorf("there are %d", len(all))
		}
		return nil
	})
	if back := waitBackups(t, f.nginx.Namespace, 1)[0]; back.Name != last.Name || back.Status.Digest != last.Status.Digest || *back.Status.Source != *last.Status.Source {
		t.Errorf("before: %+v\nafter: %+v", last.Status, back.Status)
	}
	waitPolicy(t, f.policy, metav1.ConditionTrue, backupv1alpha1.ReasonUpToDate)
	f.checkKeys(t, 1)
}

func waitPolicy(t *testing.T, p *backupv1alpha1.NginxBackupPolicy, status metav1.ConditionStatus, reason string) {
	t.Helper()
	eventually(t, "the policy is "+reason, func() error {
		if err := get(t, p); err != nil {
			return err
		}
		c := meta.FindStatusCondition(p.Status.Conditions, backupv1alpha1.ConditionReady)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}

// TestBackupToClaim: a backup can be stored on a claim, with the files of a volume that nginx
// serves.
func TestBackupToClaim(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	newClaim(t, namespace, "backups")
	newClaim(t, namespace, "films")
	newClaim(t, namespace, "uploads")
	runOnClaims(t, namespace, "fill", `mkdir /claims/films/a && echo film > /claims/films/a/film.txt && echo photo > /claims/uploads/photo.txt`, "films", "uploads")
	createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Content: []v1alpha2.Content{{MountPath: "/srv/films", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "films"}}},
		PodTemplate: &v1alpha2.PodTemplate{
			Volumes: []v1alpha2.Volume{
				{Name: "uploads", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "uploads"}},
				{Name: "again", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backups"}},
				{Name: "empty", EmptyDir: &corev1.EmptyDirVolumeSource{}},
			},
			VolumeMounts: []v1alpha2.VolumeMount{{Name: "uploads", MountPath: "/srv/uploads"}},
		},
	})
	backup := createBackup(t, namespace, "now", "web", backupv1alpha1.Destination{URL: "pvc://backups/nginx"})
	waitBackup(t, backup, backupv1alpha1.ReasonCompleted)
	left := []backupv1alpha1.LeftOut{
		{Kind: "PersistentVolumeClaim", Name: "backups", Reason: backupv1alpha1.LeftOutDestination}, {Kind: "EmptyDir", Name: "empty", Reason: backupv1alpha1.LeftOutEphemeral},
	}
	if c := backup.Status.Contents; c == nil || !slices.Equal(c.Claims, []string{"films", "uploads"}) || !slices.Equal(c.LeftOut, left) {
		t.Errorf("contents: %+v", c)
	}
	path := "/claims/backups/" + strings.TrimPrefix(backup.Status.Location, "pvc://backups/")
	packed, err := base64.StdEncoding.DecodeString(runOnClaims(t, namespace, "archive", "base64 -w0 "+path, "backups"))
	must(t, err)
	commit, err := archive.ParseCommit([]byte(runOnClaims(t, namespace, "record", "cat $(dirname "+path+")/backup.json", "backups")))
	must(t, err)
	contents, err := archive.Verify(t.Context(), bytes.NewReader(packed), commit, archive.DefaultLimits())
	must(t, err)
	if len(contents.Content) != 2 || contents.Content[0].Bytes != int64(len("film\n")) || contents.Content[1].Bytes != int64(len("photo\n")) {
		t.Errorf("of the volumes, the archive has %+v", contents.Content)
	}
	// What was uploaded is restored while the pod mounts the claim.
	runOnClaims(t, namespace, "lose", `rm /claims/uploads/photo.txt`, "uploads")
	restore := createRestore(t, namespace, "back", backupv1alpha1.NginxRestoreSpec{Backup: from(backup)})
	waitRestore(t, restore, backupv1alpha1.ConditionVerified, backupv1alpha1.ReasonVerified)
	if c := meta.FindStatusCondition(restore.Status.Conditions, backupv1alpha1.ConditionCompleted); !strings.Contains(c.Message, "does not contain the files of PersistentVolumeClaim backups") {
		t.Errorf("the restore says %s", c.Message)
	}
	if photo := runOnClaims(t, namespace, "look", `cat /claims/uploads/photo.txt`, "uploads"); strings.TrimSpace(photo) != "photo" {
		t.Errorf("the restored upload is %q", photo)
	}
}

// runOnClaims runs a script in a pod that mounts claims below /claims.
func runOnClaims(t *testing.T, namespace, name, script string, claims ...string) string {
	t.Helper()
	return runPod(t, podOnClaims(namespace, name, script, claims...))
}

func podOnClaims(namespace, name, script string, claims ...string) *corev1.Pod {
	pod := restrictedPod(namespace, name, newestImage())
	c := &pod.Spec.Containers[0]
	c.Command = []string{"sh", "-c", script}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/claims/" + claim})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"})
	return pod
}

func runPod(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	must(t, kube.Create(t.Context(), pod))
	said, err := waitEnded(t.Context(), pod)
	must(t, err)
	return said
}

// TestFailingBackups: a backup that fails reports the store's reason, and completes once the cause
// is fixed.
func TestFailingBackups(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server, destination := inS3(t, namespace)
	must(t, kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wrong"},
		StringData: map[string]string{"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "not-the-key-at-all"},
	}))
	early := createBackup(t, namespace, "early", "web", destination)
	waitBackup(t, early, backupv1alpha1.ReasonTargetNotFound, "NginxOperator web")
	createReady(t, namespace, "web", saying("hello", 1))
	waitBackup(t, early, backupv1alpha1.ReasonCompleted)

	of := func(secret, bucket string) backupv1alpha1.Destination {
		return backupv1alpha1.Destination{URL: server.location(bucket, "x"), Secret: &backupv1alpha1.SecretReference{Name: secret}}
	}
	denied := createBackup(t, namespace, "denied", "web", of("wrong", bucket))
	nowhere := createBackup(t, namespace, "nowhere", "web", of("s3", "later"))
	unknown := createBackup(t, namespace, "unknown", "web", of("missing", bucket))
	claim := createBackup(t, namespace, "claim", "web", backupv1alpha1.Destination{URL: "pvc://missing"})
	waitBackup(t, denied, backupv1alpha1.ReasonStoreDenied, "backups")
	waitBackup(t, nowhere, backupv1alpha1.ReasonStoreNotFound, "later")
	waitBackup(t, unknown, backupv1alpha1.ReasonPodNotStarted, `secret "missing" not found`)
	waitBackup(t, claim, backupv1alpha1.ReasonPodNotStarted, `"missing" not found`)
	for _, b := range backupsOf(t, namespace) {
		if text := fmt.Sprintf("%+v", b.Status); strings.Contains(text, "not-the-key-at-all") {
			t.Errorf("a credential is in the status of %s", b.Name)
		}
	}

	server.makeBucket(t, "later")
	server.secret(t, namespace, "missing")
	waitBackup(t, nowhere, backupv1alpha1.ReasonCompleted)
	waitBackup(t, unknown, backupv1alpha1.ReasonCompleted)
	noneLeft(t, namespace, nowhere)
}

// noneLeft waits until everything that a backup's job needed is deleted.
func noneLeft(t *testing.T, namespace string, b *backupv1alpha1.NginxBackup) {
	t.Helper()
	eventually(t, "the job and the snapshot are gone", func() error {
		of := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{backupv1alpha1.LabelBackup: b.Name}}
		configMaps, pods := &corev1.ConfigMapList{}, &corev1.PodList{}
		if err := kube.List(t.Context(), configMaps, of...); err != nil {
			return err
		}
		if err := kube.List(t.Context(), pods, of...); err != nil {
			return err
		}
		if n := len(configMaps.Items) + len(pods.Items); n > 0 {
			return fmt.Errorf("%d objects are left", n)
		}
		return nil
	})
}

// TestBackupDeleted: deleting the object deletes the data only if requested, and an administrator
// can give up data that cannot be deleted.
func TestBackupDeleted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server, destination := inS3(t, namespace)
	createReady(t, namespace, "web", saying("hello", 1))
	deletes := func(spec *backupv1alpha1.NginxBackupSpec) { spec.DeletionPolicy = backupv1alpha1.Delete }
	retained := createBackup(t, namespace, "retained", "web", destination)
	deleted := createBackup(t, namespace, "deleted", "web", destination, deletes)
	stuck := createBackup(t, namespace, "stuck", "web", destination, deletes)
	for _, b := range []*backupv1alpha1.NginxBackup{retained, deleted, stuck} {
		waitBackup(t, b, backupv1alpha1.ReasonCompleted)
	}
	for _, b := range []*backupv1alpha1.NginxBackup{retained, deleted} {
		must(t, kube.Delete(t.Context(), b))
		eventually(t, "the backup is gone", func() error { return gone(get(t, b)) })
	}
	keys := strings.Join(server.keys(t, bucket, "nginx/"), " ")
	if !strings.Contains(keys, "/retained-") || strings.Contains(keys, "/deleted-") {
		t.Errorf("in the store are %s", keys)
	}

	must(t, kube.Delete(t.Context(), server.pod, client.GracePeriodSeconds(0)))
	must(t, kube.Delete(t.Context(), stuck))
	waitBackup(t, stuck, backupv1alpha1.ReasonDeleting)
	update(t, stuck, func() { stuck.Spec.DeletionPolicy = backupv1alpha1.Retain })
	eventually(t, "the backup is let go", func() error { return gone(get(t, stuck)) })
}

// TestScheduledBackup: a schedule takes a backup every minute, and the backup records the time at
// which it was due.
func TestScheduledBackup(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	_, destination := inS3(t, namespace)
	createReady(t, namespace, "web", saying("hello", 1))
	policy := createPolicy(t, namespace, destination, func(spec *backupv1alpha1.NginxBackupPolicySpec) {
		spec.Triggers = backupv1alpha1.Triggers{Schedule: &backupv1alpha1.ScheduleTrigger{Cron: "* * * * *", TimeZone: "Europe/Berlin"}}
	})
	b := waitBackups(t, namespace, 1)[0]
	at, err := time.Parse(time.RFC3339, b.Annotations[backupv1alpha1.AnnotationScheduledAt])
	must(t, err)
	if b.Spec.Trigger != backupv1alpha1.TriggerSchedule || at.Second() != 0 || b.CreationTimestamp.Sub(at) > patience {
		t.Errorf("made by %s at %v for %v", b.Spec.Trigger, b.CreationTimestamp, at)
	}
	t.Logf("measured: time of the schedule to verified backup: %.1f s", b.Status.CompletionTime.Sub(at).Seconds())
	must(t, get(t, policy))
	if next := policy.Status.NextScheduleTime; next == nil || !next.After(at) {
		t.Errorf("the next backup is due at %v", next)
	}
	update(t, policy, func() { policy.Spec.Triggers.Schedule.TimeZone = "Mars/Olympus" })
	waitPolicy(t, policy, metav1.ConditionFalse, backupv1alpha1.ReasonScheduleInvalid)
	update(t, policy, func() { policy.Spec.Destination.URL += "&colour=blue" })
	waitPolicy(t, policy, metav1.ConditionFalse, backupv1alpha1.ReasonDestinationInvalid)
}
