package backup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/standin"
)

// TestRestoreInPlace: a destroyed application is restored with everything that it refers to, and
// nothing else.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	before := b.declared()
	b.burn()
	b.restore("back")
	r := b.waitRestore("back", v1alpha1.ReasonCompleted)
	b.same(before)
	b.has("films", films)
	want := []string{
		"Create ConfigMap conf", "Create ConfigMap pages", "Create ConfigMap values", "Create NginxOperator web",
		"Create PersistentVolumeClaim films 3 files are missing",
	}
	if diff := cmp.Diff(want, changesAsText(r)); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
	if r.Status.Target != "web" || r.Status.Source == nil || r.Status.Source.Replicas != 2 || r.Status.CompletionTime == nil || !slices.Equal(r.Status.Secrets, secretsOfShop) {
		t.Errorf("the restore says %+v", r.Status)
	}
	b.reports(r, "5 created", "Secrets are not restored; check that they exist: "+strings.Join(secretsOfShop, ", "))
	b.verified(r)

	// After its end, a restore ignores later changes of the application.
	b.settled()
	must(t, kube.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: b.object("pages")}))
	edit(b, &v1alpha2.NginxOperator{ObjectMeta: b.object("web")}, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(7)) })
	b.settled()
	b.restart()
	if n := b.settled(); n > 0 {
		t.Errorf("a restarted operator writes:\n%s", strings.Join(b.operator.wrote(), "\n"))
	}
	if names := sorted(b.declared()); names != "ConfigMap conf, ConfigMap values, NginxOperator web" {
		t.Errorf("there are %s", names)
	}
}

// verified reports the restored application as ready, and waits until the restore reports that it
// is verified.
func (b *bench) verified(r *v1alpha1.NginxRestore) {
	b.t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: b.object(r.Status.Target)}
	b.eventually("the application is ready", func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKeyFromObject(nginx), nginx); err != nil {
			return err
		}
		meta.SetStatusCondition(&nginx.Status.Conditions, metav1.Condition{
			Type: v1alpha2.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: nginx.Generation,
		})
		return kube.Status().Update(b.t.Context(), nginx)
	})
	b.eventually("the restore is verified", func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionVerified); c.Status != metav1.ConditionTrue {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// TestRestoreUnderANewName: the copy is created beside the application, which stays unchanged. It
// gets separate ConfigMaps where the existing ones have changed, and files on a separate claim.
func TestRestoreUnderANewName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	pages := &corev1.ConfigMap{ObjectMeta: b.object("pages")}
	edit(b, pages, func(cm *corev1.ConfigMap) { cm.Data["nginx.conf"] = "<h1>Bye</h1>\n" })
	b.file("films", "a/first.txt", "another film")
	b.claim("copies")
	before := b.declared()
	b.unchangedBut([]string{"*v1.ConfigMap pages-for-new", "*v1alpha2.NginxOperator new"}, func() {
		b.restore("copy", toNew, copies)
		b.waitRestore("copy", v1alpha1.ReasonCompleted)
	})
	b.has("copies", films)
	after := b.declared()
	r := b.waitRestore("copy", v1alpha1.ReasonCompleted)
	if got := strings.Join(changesAsText(r), "\n"); !strings.Contains(got, "Create NginxOperator new not restored: spec.ingress, spec.httpRoutes, spec.service.type") {
		t.Errorf("changes:\n%s", got)
	}
	spec := before["NginxOperator web"].(*v1alpha2.NginxOperatorSpec).DeepCopy()
	spec.Content[0].ConfigMap.Name = "pages-for-new"
	spec.Content[1].PersistentVolumeClaim.ClaimName = "copies"
	unexpose(spec)
	before["NginxOperator new"] = spec
	before["ConfigMap pages-for-new"] = map[string]string{"nginx.conf": "<h1>Hello</h1>\n"}
	b.same(before)
	if len(after) != 6 {
		t.Errorf("there are %s", sorted(after))
	}
}

// unexpose removes what a copy does not have.
func unexpose(spec *v1alpha2.NginxOperatorSpec) {
	spec.Ingress, spec.HTTPRoutes, spec.TLS[0].Certificate, spec.Ports[0].NodePort = nil, nil, nil, nil
	spec.Service.Type, spec.Service.Annotations, spec.Service.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, nil, nil
}

// unchangedBut is like unchanged, except for created objects.
func (b *bench) unchangedBut(made []string, do func()) {
	b.t.Helper()
	b.observed()
	versions, before := b.versions(), b.files("films")
	do()
	after := b.versions()
	for _, name := range made {
		if _, there := after[name]; !there {
			b.t.Errorf("%s was not made", name)
		}
		delete(after, name)
	}
	if diff := cmp.Diff(versions, after); diff != "" {
		b.t.Errorf("objects were written, -before +after:\n%s", diff)
	}
	b.has("films", before)
}

// TestRestoreFromALocation: a cluster that has no object of the backup can restore it.
func TestRestoreFromALocation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	backup := b.open()
	before := b.declared()
	must(t, kube.Delete(t.Context(), backup))
	b.burn()
	b.restore("back", from(claimURL, folderOf(backup)))
	b.waitRestore("back", v1alpha1.ReasonCompleted)
	b.same(before)
	b.has("films", films)
}

// TestRestoreFromS3: a cluster whose backups are in a bucket can restore them.
func TestRestoreFromS3(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := newObjects(t)
	b.build()
	b.backup("saved", "web", o.url)
	b.waitBackups(1)
	before := b.declared()
	b.burn()
	b.restore("back")
	b.waitRestore("back", v1alpha1.ReasonCompleted)
	b.same(before)
	b.has("films", films)
}

// changed makes everything differ from the backup.
func (b *bench) changed() {
	b.t.Helper()
	edit(b, &corev1.ConfigMap{ObjectMeta: b.object("pages")}, func(cm *corev1.ConfigMap) { cm.Data["nginx.conf"] = "<h1>Bye</h1>\n" })
	edit(b, &v1alpha2.NginxOperator{ObjectMeta: b.object("web")}, func(nginx *v1alpha2.NginxOperator) { nginx.Spec.Replicas = new(int32(7)) })
	b.file("films", "a/first.txt", "another film")
	b.file("films", "mine.txt", "mine")
}

// TestRestoreRefuses: if an existing object differs, it is not changed and nothing else is restored
// either, and that stays so.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*bench)
		words  []string
	}{
		{"objects", (*bench).changed, []string{"ConfigMap pages", "NginxOperator web", "onConflict: Overwrite"}},
		{"files", func(b *bench) { b.file("films", "a/first.txt", "another film") }, []string{"a/first.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.open()
			must(t, kube.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: b.object("conf")}))
			tt.change(b)
			b.unchanged(func() {
				b.restore("back")
				r := b.waitRestore("back", v1alpha1.ReasonConflict)
				b.reports(r, tt.words...)
				version := r.ResourceVersion
				b.settled()
				b.restart()
				if n := b.settled(); n > 0 {
					t.Errorf("a restarted operator writes:\n%s", strings.Join(b.operator.wrote(), "\n"))
				}
				if r = b.waitRestore("back", v1alpha1.ReasonConflict); r.ResourceVersion != version {
					t.Errorf("it did not stay so: %+v", r.Status)
				}
			})
		})
	}
}

// TestRestoreOverwrites: if requested, existing objects are updated and keep their identity. Files
// that the backup does not have are left alone.
func TestRestoreOverwrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	before := b.declared()
	b.changed()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: b.object("web")}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), nginx))
	b.restore("back", overwrite)
	r := b.waitRestore("back", v1alpha1.ReasonCompleted)
	b.same(before)
	b.has("films", joined(films, map[string]string{"mine.txt": "mine"}))
	want := []string{
		"None ConfigMap conf", "Replace ConfigMap pages nginx.conf", "None ConfigMap values", "Replace NginxOperator web spec.replicas",
		"Replace PersistentVolumeClaim films 0 files are missing, 1 differ: a/first.txt",
	}
	if diff := cmp.Diff(want, changesAsText(r)); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
	uid := nginx.UID
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), nginx))
	if nginx.UID != uid {
		t.Error("the application is another object")
	}
	b.verified(r)
}

// TestRestoreDryRun: the planned changes are reported, and nothing is changed.
func TestRestoreDryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	b.changed()
	want := []string{
		"None ConfigMap conf", "Replace ConfigMap pages nginx.conf", "None ConfigMap values", "Replace NginxOperator web spec.replicas",
		"Replace PersistentVolumeClaim films 0 files are missing, 1 differ: a/first.txt",
	}
	b.unchanged(func() {
		b.restore("refusing", dryRun)
		r := b.waitRestore("refusing", v1alpha1.ReasonDryRun)
		b.reports(r, "Nothing was changed", "3 replaced", "It would be rejected", "ConfigMap pages", "PersistentVolumeClaim films")
		if diff := cmp.Diff(want, changesAsText(r)); diff != "" {
			t.Errorf("changes, -want +got:\n%s", diff)
		}
		b.restore("overwriting", dryRun, overwrite)
		if r = b.waitRestore("overwriting", v1alpha1.ReasonDryRun); strings.Contains(message(r), "rejected") {
			t.Errorf("what may be overwritten is said to be refused: %s", message(r))
		}
	})
	b.burn()
	b.unchanged(func() {
		b.restore("of-nothing", dryRun)
		b.reports(b.waitRestore("of-nothing", v1alpha1.ReasonDryRun), "5 created")
	})
}

// TestRestoreItems: items that are not requested stay unchanged.
func TestRestoreItems(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	b.changed()
	b.unchanged(func() {
		b.restore("claim-of-another", items(v1alpha1.RestoreContent), func(spec *restoreSpec) {
			spec.Claims = []v1alpha1.ClaimReplacement{{From: "database", To: "films"}}
		})
		b.reports(b.waitRestore("claim-of-another", v1alpha1.ReasonNotUsable), "database")
	})
	b.claim("copies")
	b.unchanged(func() {
		b.restore("files", items(v1alpha1.RestoreContent), copies)
		b.waitRestore("files", v1alpha1.ReasonCompleted)
	})
	b.has("copies", films)

	b.restore("spec", items(v1alpha1.RestoreSpec), overwrite)
	b.waitRestore("spec", v1alpha1.ReasonCompleted)
	now := b.declared()
	if got := now["NginxOperator web"].(*v1alpha2.NginxOperatorSpec).Replicas; *got != 2 {
		t.Errorf("there are %d replicas", *got)
	}
	if got := now["ConfigMap pages"].(map[string]string)["nginx.conf"]; got != "<h1>Bye</h1>\n" {
		t.Errorf("a ConfigMap was brought back: %s", got)
	}
	b.restore("configuration", items(v1alpha1.RestoreConfiguration), overwrite)
	b.waitRestore("configuration", v1alpha1.ReasonCompleted)
	if got := b.declared()["ConfigMap pages"].(map[string]string)["nginx.conf"]; got != "<h1>Hello</h1>\n" {
		t.Errorf("a ConfigMap was not brought back: %s", got)
	}
	if got := b.files("films")["a/first.txt"]; got != "another film" {
		t.Errorf("a file was brought back: %s", got)
	}
	b.burn()
	b.restore("nothing-to-keep", items(v1alpha1.RestoreConfiguration))
	b.reports(b.waitRestore("nothing-to-keep", v1alpha1.ReasonNotUsable), "add Spec to items")
}

// TestRestoreWaitsForABackup: a restore waits until its backup exists and is completed.
func TestRestoreWaitsForABackup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.build()
	b.restore("early")
	b.reports(b.waitRestore("early", v1alpha1.ReasonBackupNotFound), "NginxBackup saved")
	release := make(chan struct{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		if strings.HasSuffix(j.Name, "-c1") {
			return standin.Fate{Hold: release}
		}
		return standin.Fate{}
	})
	b.backup("saved", "web", claimURL)
	b.waitRestore("early", v1alpha1.ReasonBackupNotCompleted)
	close(release)
	b.waitRestore("early", v1alpha1.ReasonCompleted)
}

// TestRestoreWaitsForTheTarget: a restore waits until a terminating object is gone, and then
// recreates it.
func TestRestoreWaitsForTheTarget(t *testing.T) {
	t.Parallel()
	for name, holder := range map[string]func(*bench) client.Object{
		"NginxOperator web": func(b *bench) client.Object { return &v1alpha2.NginxOperator{ObjectMeta: b.object("web")} },
		"ConfigMap pages":   func(b *bench) client.Object { return &corev1.ConfigMap{ObjectMeta: b.object("pages")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.open()
			before := b.declared()
			object := holder(b)
			edit(b, object, func(o client.Object) { o.SetFinalizers([]string{"example.com/wait"}) })
			must(t, kube.Delete(t.Context(), object))
			b.restore("back")
			b.reports(b.waitRestore("back", v1alpha1.ReasonTargetDeleting), name)
			edit(b, object, func(o client.Object) { o.SetFinalizers(nil) })
			b.waitRestore("back", v1alpha1.ReasonCompleted)
			b.same(before)
		})
	}
}

// TestRestoreDeleted: a restore that is deleted while it runs leaves nothing behind.
func TestRestoreDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	release := make(chan struct{})
	b.place.Fail(func(*batchv1.Job) standin.Fate { return standin.Fate{Hold: release} })
	b.unchanged(func() {
		r := b.restore("back")
		b.eventually("the job runs", func() error {
			if len(b.place.Started()) < 2 {
				return fmt.Errorf("there is none")
			}
			return nil
		})
		must(t, kube.Delete(t.Context(), r))
		close(release)
		b.eventually("nothing is left", func() error {
			if left := b.left(); len(left) > 0 {
				return fmt.Errorf("left: %v", left)
			}
			return nil
		})
		b.settled()
	})
	// The name can be reused.
	b.restore("back")
	b.waitRestore("back", v1alpha1.ReasonCompleted)
}

// TestManyRestores: restores do not wait for each other, even if there are more of them than jobs
// are allowed.
func TestManyRestores(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *manager.Options) { o.BackupJobs = 2 })
	b.open()
	for i := range 5 {
		claim := fmt.Sprintf("copies-%d", i)
		b.claim(claim)
		b.restore(fmt.Sprintf("copy-%d", i), func(spec *restoreSpec) {
			spec.Target = &v1alpha1.TargetReference{Name: fmt.Sprintf("new-%d", i)}
			spec.Claims = []v1alpha1.ClaimReplacement{{From: "films", To: claim}}
		})
	}
	for i := range 5 {
		b.eventually("all are completed", func() error {
			r := &v1alpha1.NginxRestore{}
			must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: fmt.Sprintf("copy-%d", i)}, r))
			if !meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionCompleted) {
				return fmt.Errorf("%s says %+v", r.Name, r.Status.Conditions)
			}
			return nil
		})
		b.has(fmt.Sprintf("copies-%d", i), films)
	}
}

// TestTwoRestores: the second of two restores of an application waits until the first has ended.
func TestTwoRestores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.open()
	hold := make(chan struct{})
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		if j.Name == "first-e1" {
			return standin.Fate{Hold: hold}
		}
		return standin.Fate{}
	})
	b.file("films", "a/first.txt", "another film")
	b.restore("first", overwrite)
	b.eventually("the first restore brings files back", func() error {
		if !slices.Contains(b.place.Started(), "first-e1") {
			return fmt.Errorf("the jobs are %q", b.place.Started())
		}
		return nil
	})
	b.restore("second", overwrite)
	b.eventually("the second restore waits", func() error {
		r := b.waitRestore("second", v1alpha1.ReasonInProgress)
		if said := message(r); !strings.Contains(said, "NginxRestore first of the same application is in progress") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	if started := b.place.Started(); slices.Contains(started, "second-e1") {
		t.Errorf("both write: %q", started)
	}
	close(hold)
	b.waitRestore("first", v1alpha1.ReasonCompleted)
	b.waitRestore("second", v1alpha1.ReasonCompleted)
	b.has("films", films)
}
