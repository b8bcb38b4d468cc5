package backup

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/standin"
)

// claimURL is the destination in most tests.
const claimURL = "pvc://backups/folder"

// bench is a namespace with its own operator.
type bench struct {
	t         *testing.T
	namespace string
	place     *standin.NodeStorage
	operator  *testOperator
}

func newBench(t *testing.T, change ...func(*manager.Options)) *bench {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	b := &bench{t: t, namespace: namespace.Name, place: &standin.NodeStorage{Claim: t.TempDir(), Content: t.TempDir()}}
	must(t, kube.Create(t.Context(), newOrderKey(t, b.namespace)))
	nodes.Add(b.namespace, b.place)
	t.Cleanup(func() { nodes.Remove(b.namespace) })
	b.operator = startOperator(t, b.namespace, change...)
	return b
}

// orderKeySecret is the Secret with the operator's key.
const orderKeySecret = "order-key"

// newOrderKey returns the Secret with a key. The operator does not replace it, so it writes nothing at its start.
func newOrderKey(t *testing.T, namespace string) *corev1.Secret {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: orderKeySecret},
		Data: map[string][]byte{
			"current.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
			"created":     []byte(time.Now().UTC().Format(time.RFC3339)),
		},
	}
}

// restart replaces the operator.
func (b *bench) restart(change ...func(*manager.Options)) {
	b.t.Helper()
	b.operator.stop()
	b.operator = startOperator(b.t, b.namespace, change...)
}

func (b *bench) application(name string, spec v1alpha2.NginxOperatorSpec) *v1alpha2.NginxOperator {
	b.t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Spec: spec}
	must(b.t, kube.Create(b.t.Context(), nginx))
	return nginx
}

// policy creates a policy that backs up all applications of the namespace as soon as they change.
func (b *bench) policy(change ...func(*v1alpha1.NginxBackupPolicySpec)) *v1alpha1.NginxBackupPolicy {
	b.t.Helper()
	at := &v1alpha1.ChangeTrigger{SettleSeconds: new(int32(0))}
	policy := &v1alpha1.NginxBackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "all"},
		Spec: v1alpha1.NginxBackupPolicySpec{
			Selector:    &metav1.LabelSelector{},
			Triggers:    v1alpha1.Triggers{Change: at, Scale: at},
			Destination: v1alpha1.Destination{URL: claimURL},
		},
	}
	for _, c := range change {
		c(&policy.Spec)
	}
	must(b.t, kube.Create(b.t.Context(), policy))
	return policy
}

func settle(seconds int32) func(*v1alpha1.NginxBackupPolicySpec) {
	return func(spec *v1alpha1.NginxBackupPolicySpec) {
		at := &v1alpha1.ChangeTrigger{SettleSeconds: &seconds}
		spec.Triggers.Change, spec.Triggers.Scale = at, at
	}
}

func keepLast(n int32) func(*v1alpha1.NginxBackupPolicySpec) {
	return func(spec *v1alpha1.NginxBackupPolicySpec) { spec.Retention = &v1alpha1.Retention{KeepLast: &n} }
}

func (b *bench) backup(name, target, url string, change ...func(*v1alpha1.NginxBackupSpec)) *v1alpha1.NginxBackup {
	b.t.Helper()
	backup := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec:       v1alpha1.NginxBackupSpec{Target: v1alpha1.TargetReference{Name: target}, Destination: v1alpha1.Destination{URL: url}},
	}
	for _, c := range change {
		c(&backup.Spec)
	}
	must(b.t, kube.Create(b.t.Context(), backup))
	return backup
}

// edit changes an object, and retries after conflicts.
func edit[T client.Object](b *bench, object T, change func(T)) {
	b.t.Helper()
	b.eventually("edit "+object.GetName(), func() error {
		if err := kube.Get(b.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return kube.Update(b.t.Context(), object)
	})
}

var must = kubetest.Must

// eventually waits until check returns nil.
func (b *bench) eventually(what string, check func() error) {
	b.t.Helper()
	polling := kubetest.Poll{Interval: 50 * time.Millisecond, Timeout: patience, Abort: func() error {
		select {
		case <-b.operator.ended:
			return fmt.Errorf("the operator has ended: %w", b.operator.err)
		default:
			return nil
		}
	}}
	if err := polling.Until(b.t.Context(), func(context.Context) error { return check() }); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.state())
	}
}

// state describes the objects of the namespace, for failure messages.
func (b *bench) state() string {
	var text strings.Builder
	for _, backup := range b.backups() {
		fmt.Fprintf(&text, "backup %s %s: %+v\n", backup.Name, backup.Spec.Trigger, backup.Status.Conditions)
	}
	for _, restore := range b.restores() {
		fmt.Fprintf(&text, "restore %s: %+v\n", restore.Name, restore.Status.Conditions)
	}
	fmt.Fprintf(&text, "left: %v\n", b.left())
	fmt.Fprintf(&text, "jobs ever: %v\n", b.place.Started())
	fmt.Fprintf(&text, "writes:\n%s\n", strings.Join(b.operator.wrote(), "\n"))
	return text.String()
}

// backups returns all backups, sorted by number.
func (b *bench) backups() []v1alpha1.NginxBackup {
	b.t.Helper()
	list := &v1alpha1.NginxBackupList{}
	must(b.t, kube.List(b.t.Context(), list, client.InNamespace(b.namespace)))
	slices.SortFunc(list.Items, func(x, y v1alpha1.NginxBackup) int {
		if d := strings.Compare(x.Annotations[v1alpha1.AnnotationSequence], y.Annotations[v1alpha1.AnnotationSequence]); d != 0 {
			return d
		}
		return strings.Compare(x.Name, y.Name)
	})
	return list.Items
}

// left returns the names of the objects that jobs need and that must be gone when they have ended.
func (b *bench) left() []string {
	b.t.Helper()
	var names []string
	for _, kind := range []struct {
		name, label string
		list        client.ObjectList
	}{
		{"Job", job.LabelTask, &batchv1.JobList{}}, {"Pod", job.LabelTask, &corev1.PodList{}}, {"ConfigMap", v1alpha1.LabelBackup, &corev1.ConfigMapList{}}, {"ConfigMap", job.LabelTask, &corev1.ConfigMapList{}},
	} {
		must(b.t, kube.List(b.t.Context(), kind.list, client.InNamespace(b.namespace), client.HasLabels{kind.label}))
		must(b.t, meta.EachListItem(kind.list, func(o runtime.Object) error {
			names = append(names, kind.name+" "+o.(client.Object).GetName())
			return nil
		}))
	}
	slices.Sort(names)
	return names
}

// waitBackups waits until there are n backups, all of them good, and nothing is left of their jobs.
func (b *bench) waitBackups(n int) []v1alpha1.NginxBackup {
	b.t.Helper()
	var found []v1alpha1.NginxBackup
	b.eventually(fmt.Sprintf("there are %d good backups, and nothing is left of their jobs", n), func() error {
		found = b.backups()
		if err := allGood(found); err != nil {
			return err
		}
		if len(found) != n {
			return fmt.Errorf("there are %d", len(found))
		}
		if left := b.left(); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	return found
}

func allGood(backups []v1alpha1.NginxBackup) error {
	for i := range backups {
		if !plan.Good(&backups[i]) || backups[i].DeletionTimestamp != nil {
			return fmt.Errorf("%s is not good: %+v", backups[i].Name, backups[i].Status.Conditions)
		}
	}
	return nil
}

// waitReason waits until the Completed condition of a backup has a reason.
func (b *bench) waitReason(name, reason string) {
	b.t.Helper()
	b.eventually(name+" says "+reason, func() error {
		backup := &v1alpha1.NginxBackup{}
		if err := kube.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: name}, backup); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(backup.Status.Conditions, v1alpha1.ConditionCompleted); c == nil || c.Reason != reason {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
}

// quiet is how long nothing must be written for the operator to be settled. It is longer than
// policies wait to gather changes.
const quiet = 1500 * time.Millisecond

// settled waits until the operator has written nothing for a while, and returns how much it has
// written. A pause is the only way to detect that nothing follows.
func (b *bench) settled() int {
	b.t.Helper()
	last, since := len(b.operator.wrote()), time.Now()
	deadline := time.Now().Add(patience)
	for time.Since(since) < quiet {
		if time.Now().After(deadline) {
			b.t.Fatalf("the operator does not stop writing: %s", b.state())
		}
		time.Sleep(50 * time.Millisecond)
		if now := len(b.operator.wrote()); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// claimFiles returns the files on the claim, with paths relative to the destination's folder.
func (b *bench) claimFiles(folder string) map[string][]byte {
	b.t.Helper()
	files := map[string][]byte{}
	root := filepath.Join(b.place.Claim, folder)
	must(b.t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) && name == root {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(root, name)
		files[filepath.ToSlash(relative)] = text
		return err
	}))
	return files
}

// verify checks that the claim holds the verified data of all existing backups and nothing else.
func (b *bench) verify() {
	b.t.Helper()
	b.verifyFiles(b.backups(), b.claimFiles("folder"))
}

func (b *bench) verifyFiles(backups []v1alpha1.NginxBackup, files map[string][]byte) {
	b.t.Helper()
	for i := range backups {
		backup := &backups[i]
		record := job.Key(backup) + "/backup.json"
		commit, err := archive.ParseCommit(files[record])
		if err != nil {
			b.t.Errorf("backup %s: %s: %v", backup.Name, record, err)
			continue
		}
		name := path.Join(job.Key(backup), commit.Archive)
		if _, err := archive.Verify(b.t.Context(), bytes.NewReader(files[name]), commit, archive.DefaultLimits()); err != nil {
			b.t.Errorf("backup %s: %s: %v", backup.Name, name, err)
		}
		if backup.Status.Digest != "sha256:"+commit.SHA256 || !strings.Contains(backup.Status.Location, name) || backup.Spec.Existing == nil && commit.Info.UID != string(backup.UID) {
			b.t.Errorf("backup %s says %s %s, the store %s %s", backup.Name, backup.Status.Location, backup.Status.Digest, name, commit.SHA256)
		}
		delete(files, record)
		delete(files, name)
	}
	if len(files) > 0 {
		b.t.Errorf("files that belong to no backup: %v", slices.Sorted(maps.Keys(files)))
	}
}

// document reads a document of a backup on the claim.
func (b *bench) document(backup *v1alpha1.NginxBackup, name string) string {
	b.t.Helper()
	text, err := b.place.Document(b.t.Context(), "folder", backup, name)
	must(b.t, err)
	return string(text)
}
