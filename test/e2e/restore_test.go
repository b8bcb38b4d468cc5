//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// museum is an application with every kind of part: its configuration and a folder of pages come
// from ConfigMaps, and films from a volume.
type museum struct {
	namespace string
	nginx     *v1alpha2.NginxOperator
	// policy backs it up.
	policy *backupv1alpha1.NginxBackupPolicy
	// answers are its responses, by path.
	answers map[string]string
	// compared counts the responses that were compared with answers.
	compared int
}

// museumPaths are the requested paths: a text, a page, a film in a folder, and one that does not
// exist.
var museumPaths = []string{"/", "/pages/index.html", "/films/a/film.bin", "/films/none"}

const museumConf = `server {
    listen 8080;
    default_type application/octet-stream;
    location = / { return 200 "edition %d\n"; }
    location /pages/ { root /srv; }
    location /films/ { root /srv; }
}
`

// newMuseum creates a museum whose claim films is already filled.
func newMuseum(t *testing.T, namespace string) *museum {
	t.Helper()
	for _, cm := range []corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Name: "site"}, Data: map[string]string{"site.conf": fmt.Sprintf(museumConf, 1)}},
		{ObjectMeta: metav1.ObjectMeta{Name: "pages"}, Data: map[string]string{"index.html": "<h1>Ünicode & more</h1>\n"}},
	} {
		cm.Namespace = namespace
		must(t, kube.Create(t.Context(), &cm))
	}
	return &museum{namespace: namespace, nginx: createReady(t, namespace, "museum", v1alpha2.NginxOperatorSpec{
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "site"}}, Ports: ports(httpPort),
		Content: []v1alpha2.Content{
			{MountPath: "/srv/pages", ConfigMap: &v1alpha2.ConfigMapReference{Name: "pages"}},
			{MountPath: "/srv/films", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "films"}},
		},
	})}
}

// getAll requests every path of an application.
func getAll(ctx context.Context, nginx *v1alpha2.NginxOperator) (map[string]string, error) {
	answers := map[string]string{}
	for _, path := range museumPaths {
		body, err := request(nginx.Namespace, naming.Service(nginx.Name), "http", path).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			body, err = append([]byte("404 "), body...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		answers[path] = string(body)
	}
	return answers, nil
}

// remember records the responses once the application serves the edition.
func (m *museum) remember(t *testing.T, edition int) {
	t.Helper()
	waitAnswer(t, m.nginx, fmt.Sprintf("edition %d", edition))
	var err error
	m.answers, err = getAll(t.Context(), m.nginx)
	must(t, err)
	if len(m.answers["/films/a/film.bin"]) < 100_000 || !strings.HasPrefix(m.answers["/films/none"], "404") {
		t.Fatalf("it answers %.200q", m.answers)
	}
}

// compare fails the test unless an application responds with the same bytes.
func (m *museum) compare(t *testing.T, name string) {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}}
	waitReady(t, nginx)
	var answers map[string]string
	eventually(t, name+" answers", func() (err error) {
		answers, err = getAll(t.Context(), nginx)
		return err
	})
	if !maps.Equal(answers, m.answers) {
		t.Errorf("%s answers %.300q, before it was %.300q", name, answers, m.answers)
	}
	m.compared += len(answers)
}

// remove deletes the application and its ConfigMaps, and waits until they are gone.
func (m *museum) remove(t *testing.T) {
	t.Helper()
	must(t, kube.Delete(t.Context(), m.nginx))
	for _, name := range []string{"site", "pages"} {
		must(t, kube.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}}))
	}
	waitNothingLeft(t, m.nginx)
}

// follow creates a policy, then changes and scales the application, which produces one backup each.
// It returns the last backup and logs how long each took after its change.
func (m *museum) follow(t *testing.T, destination backupv1alpha1.Destination) *backupv1alpha1.NginxBackup {
	t.Helper()
	m.policy = createPolicy(t, m.namespace, destination)
	waitBackups(t, m.namespace, 1)

	changed := time.Now()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "site"}}
	must(t, get(t, site))
	update(t, site, func() { site.Data["site.conf"] = fmt.Sprintf(museumConf, 2) })
	m.remember(t, 2)
	second := waitBackups(t, m.namespace, 2)[1]
	t.Logf("measured: change to verified backup: %.1f s", time.Since(changed).Seconds())

	scaled := time.Now()
	edit(t, m.nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Replicas = new(int32(2)) })
	third := waitBackups(t, m.namespace, 3)[2]
	t.Logf("measured: scale to verified backup: %.1f s", time.Since(scaled).Seconds())
	if second.Spec.Trigger != backupv1alpha1.TriggerChange || third.Spec.Trigger != backupv1alpha1.TriggerScale {
		t.Errorf("the backups were made by %s and %s", second.Spec.Trigger, third.Spec.Trigger)
	}
	return &third
}

func createRestore(t *testing.T, namespace, name string, spec backupv1alpha1.NginxRestoreSpec) *backupv1alpha1.NginxRestore {
	t.Helper()
	restore := &backupv1alpha1.NginxRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	must(t, kube.Create(t.Context(), restore))
	return restore
}

// waitRestore waits until a condition of a restore has a reason, and returns the condition.
func waitRestore(t *testing.T, r *backupv1alpha1.NginxRestore, condition, reason string) *metav1.Condition {
	t.Helper()
	var c *metav1.Condition
	eventually(t, fmt.Sprintf("restore %s: %s is %s", r.Name, condition, reason), func() error {
		if err := get(t, r); err != nil {
			return err
		}
		c = meta.FindStatusCondition(r.Status.Conditions, condition)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("the conditions are %+v", r.Status.Conditions)
		}
		return nil
	})
	return c
}

func from(b *backupv1alpha1.NginxBackup) *backupv1alpha1.BackupReference {
	return &backupv1alpha1.BackupReference{Name: b.Name}
}

// restored waits until a restore has completed and is verified.
func (m *museum) restored(t *testing.T, what, name string, spec backupv1alpha1.NginxRestoreSpec) {
	t.Helper()
	start := time.Now()
	restore := createRestore(t, m.namespace, name, spec)
	waitRestore(t, restore, backupv1alpha1.ConditionVerified, backupv1alpha1.ReasonVerified)
	t.Logf("measured: %s: %.1f s", what, time.Since(start).Seconds())
	m.compare(t, restore.Status.Target)
	eventually(t, "the restore's jobs are gone", func() error {
		pods := &corev1.PodList{}
		err := kube.List(t.Context(), pods, client.InNamespace(m.namespace), client.MatchingLabels{backupv1alpha1.LabelRestore: restore.Name})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods are left", len(pods.Items))
		}
		return err
	})
}

// checkRefused checks that a restore does not change existing objects that differ, unless
// requested.
func (m *museum) checkRefused(t *testing.T, backup *backupv1alpha1.NginxBackup) {
	t.Helper()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "site"}}
	must(t, get(t, site))
	update(t, site, func() { site.Data["site.conf"] = fmt.Sprintf(museumConf, 3) })
	waitAnswer(t, m.nginx, "edition 3")
	edit(t, m.nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Replicas = new(int32(3)) })
	must(t, get(t, m.nginx))
	generation := m.nginx.Generation
	dry := createRestore(t, m.namespace, "dry", backupv1alpha1.NginxRestoreSpec{Backup: from(backup), DryRun: new(true)})
	waitRestore(t, dry, backupv1alpha1.ConditionCompleted, backupv1alpha1.ReasonDryRun)
	i := slices.IndexFunc(dry.Status.Changes, func(c backupv1alpha1.RestoreChange) bool { return c.Kind == v1alpha2.Kind })
	if i < 0 || dry.Status.Changes[i].Action != "Replace" || dry.Status.Changes[i].Difference != "spec.replicas" {
		t.Errorf("the dry run reports %+v", dry.Status.Changes)
	}
	refused := createRestore(t, m.namespace, "refused", backupv1alpha1.NginxRestoreSpec{Backup: from(backup)})
	if c := waitRestore(t, refused, backupv1alpha1.ConditionCompleted, backupv1alpha1.ReasonConflict); !strings.Contains(c.Message, "ConfigMap site, NginxOperator museum") {
		t.Errorf("it is refused with: %s", c.Message)
	}
	must(t, get(t, m.nginx))
	if m.nginx.Generation != generation {
		t.Error("the application was changed")
	}
	m.restored(t, "in place, over what exists", "over", backupv1alpha1.NginxRestoreSpec{Backup: from(backup), OnConflict: backupv1alpha1.ConflictOverwrite})
}

// checkVolumeUntouched checks that a rejected restore leaves a volume with other files unchanged,
// including the groups of the files, which Kubernetes changes for a pod that may write there.
func (m *museum) checkVolumeUntouched(t *testing.T, backup *backupv1alpha1.NginxBackup) {
	t.Helper()
	newClaim(t, m.namespace, "others")
	groups := func(name string, fsGroup *int64, before string) string {
		pod := podOnClaims(m.namespace, name, before+"stat -c '%n %g %a' /claims/others /claims/others/a /claims/others/a/film.bin", "others")
		pod.Spec.SecurityContext.RunAsGroup, pod.Spec.SecurityContext.FSGroup = new(int64(4242)), fsGroup
		return runPod(t, pod)
	}
	before := groups("other-film", new(int64(4242)), "mkdir /claims/others/a && echo another > /claims/others/a/film.bin && ")
	spec := backupv1alpha1.NginxRestoreSpec{
		Backup: from(backup), Items: []backupv1alpha1.RestoreItem{backupv1alpha1.RestoreContent},
		Claims: []backupv1alpha1.ClaimReplacement{{From: "films", To: "others"}},
	}
	if c := waitRestore(t, createRestore(t, m.namespace, "other-files", spec), backupv1alpha1.ConditionCompleted, backupv1alpha1.ReasonConflict); !strings.Contains(c.Message, "PersistentVolumeClaim others") {
		t.Errorf("it is refused with: %s", c.Message)
	}
	if after := groups("refused-groups", nil, ""); after != before {
		t.Errorf("groups before:\n%s\nand after a restore that was refused:\n%s", before, after)
	}
	spec.OnConflict = backupv1alpha1.ConflictOverwrite
	waitRestore(t, createRestore(t, m.namespace, "overwritten-files", spec), backupv1alpha1.ConditionCompleted, backupv1alpha1.ReasonCompleted)
	if after := groups("overwritten-groups", nil, ""); after == before {
		t.Error("no group changes where files are written: that none did before proves nothing")
	}
}

// fillFilms writes a film of random bytes to a claim.
func fillFilms(t *testing.T, namespace string) {
	t.Helper()
	newClaim(t, namespace, "films")
	runOnClaims(t, namespace, "fill", `mkdir /claims/films/a && head -c 200000 /dev/urandom | base64 > /claims/films/a/film.bin`, "films")
}

// emptyFilms deletes the files on a claim.
func emptyFilms(t *testing.T, namespace string) {
	t.Helper()
	runOnClaims(t, namespace, "empty", `rm -r /claims/films/a`, "films")
}

// TestBackupAndRestoreOnS3: after a change, a scaling and a deletion, an application can be
// restored in place, under another name, and in a cluster where nothing of it is left but the
// store.
func TestBackupAndRestoreOnS3(t *testing.T) {
	t.Parallel()
	namespace, elsewhere := newNamespace(t), newNamespace(t)
	server := startS3(t, elsewhere)
	server.makeBucket(t, bucket)
	server.secret(t, namespace, "s3")
	destination := backupv1alpha1.Destination{URL: server.location(bucket, "nginx"), Secret: &backupv1alpha1.SecretReference{Name: "s3"}}
	fillFilms(t, namespace)
	m := newMuseum(t, namespace)
	backup := m.follow(t, destination)
	m.checkRefused(t, backup)
	m.checkVolumeUntouched(t, backup)
	must(t, kube.Delete(t.Context(), m.policy))

	m.remove(t)
	emptyFilms(t, namespace)
	m.restored(t, "in place, after it was deleted", "in-place", backupv1alpha1.NginxRestoreSpec{Backup: from(backup)})

	newClaim(t, namespace, "films-2")
	m.restored(t, "under another name", "other-name", backupv1alpha1.NginxRestoreSpec{
		Backup: from(backup), Target: &backupv1alpha1.TargetReference{Name: "annex"},
		Claims: []backupv1alpha1.ClaimReplacement{{From: "films", To: "films-2"}},
	})

	emptyCluster(t, namespace)
	server.secret(t, namespace, "s3")
	newClaim(t, namespace, "films-3")
	m.restored(t, "into an emptied cluster", "anew", backupv1alpha1.NginxRestoreSpec{
		Location: &backupv1alpha1.BackupLocation{Destination: destination, Path: pathOf(backup)},
		Claims:   []backupv1alpha1.ClaimReplacement{{From: "films", To: "films-3"}},
	})
	t.Logf("measured: answers compared byte for byte: %d", m.compared)
}

// emptyCluster deletes a namespace with everything in it, and recreates it.
func emptyCluster(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, get(t, namespace))
	must(t, kube.Delete(t.Context(), namespace))
	again := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: namespace.Labels}}
	eventually(t, "the namespace is new", func() error {
		err := kube.Create(t.Context(), again.DeepCopy())
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("the old one is there still: %w", err)
		}
		must(t, err)
		return nil
	})
}

// pathOf returns the folder of a backup below its destination.
func pathOf(b *backupv1alpha1.NginxBackup) string {
	parts := strings.Split(b.Status.Location, "/")
	return strings.Join(parts[len(parts)-4:len(parts)-1], "/")
}

// TestBackupAndRestoreOnClaim: the same works with a claim as the store.
func TestBackupAndRestoreOnClaim(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	newClaim(t, namespace, "backups")
	fillFilms(t, namespace)
	m := newMuseum(t, namespace)
	destination := backupv1alpha1.Destination{URL: "pvc://backups/nginx"}
	backup := m.follow(t, destination)
	must(t, kube.Delete(t.Context(), m.policy))

	m.remove(t)
	emptyFilms(t, namespace)
	m.restored(t, "in place, after it was deleted", "in-place", backupv1alpha1.NginxRestoreSpec{Backup: from(backup)})

	m.remove(t)
	must(t, kube.DeleteAllOf(t.Context(), &backupv1alpha1.NginxBackup{}, client.InNamespace(namespace)))
	m.restored(t, "without any object of the backup", "anew", backupv1alpha1.NginxRestoreSpec{
		Location: &backupv1alpha1.BackupLocation{Destination: destination, Path: pathOf(backup)},
	})
	t.Logf("measured: answers compared byte for byte: %d", m.compared)
}
