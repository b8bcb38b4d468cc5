package plugin

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
)

// when is a writer that does something once a text has been printed.
type when struct {
	text string
	do   func()

	printed strings.Builder
	once    sync.Once
}

// Write implements io.Writer. The command goes on when do has returned.
func (w *when) Write(text []byte) (int, error) {
	w.printed.Write(text)
	if strings.Contains(w.printed.String(), w.text) {
		w.once.Do(w.do)
	}
	return len(text), nil
}

// TestWaitForApplication: --wait ends when the application is ready, and when it is deleted, before or while it is watched.
func TestWaitForApplication(t *testing.T) {
	namespace := newNamespace(t)
	for name, tt := range map[string]struct {
		// after is what has been printed when something happens.
		after string
		do    func(t *testing.T, nginx *v1alpha2.NginxOperator)
		code  int
		says  string
	}{
		"becomes-ready": {"waiting for pods", func(t *testing.T, nginx *v1alpha2.NginxOperator) { report(t, nginx, metav1.ConditionTrue, "") }, 0, ": ready"},
		"deleted-first": {"scaled to 3 pods", remove, 1, "was deleted meanwhile"},
		"deleted-later": {"waiting for pods", remove, 1, "was deleted meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			nginx := create(t, namespace, name, metav1.ConditionTrue, "")
			reported := &when{text: "scaled to 3 pods", do: func() {
				if tt.after != "scaled to 3 pods" {
					report(t, nginx, metav1.ConditionFalse, "waiting for pods")
				}
			}}
			happens := &when{text: tt.after, do: func() { tt.do(t, nginx) }}
			run(t, plane.Kubeconfig, io.MultiWriter(reported, happens), "scale", name, "3", "--wait", "--timeout=20s", "-n", namespace).want(t, tt.code, tt.says)
		})
	}
}

func remove(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	must(t, kube.Delete(t.Context(), nginx))
}

// TestWaitEndsWhenPaused: --wait does not wait for a pause to end, which only the user can do.
func TestWaitEndsWhenPaused(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", metav1.ConditionTrue, "")
	pauses := &when{text: "scaled to 3 pods", do: func() {
		reportCondition(t, nginx, metav1.Condition{
			Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonRolloutPaused, Message: "The rollout is paused",
		})
		report(t, nginx, metav1.ConditionFalse, "The rollout is paused")
	}}
	command := strings.Fields("scale web 3 --wait --timeout=60s -n " + namespace)
	run(t, plane.Kubeconfig, pauses, command...).want(t, 2, "web is not ready: The rollout is paused; to continue the rollout: kubectl nginx resume web -n "+namespace)
}

// TestWaitEndsWhenPinned: --wait does not report an image as live while the application stays at another revision, which is ready. A
// number of pods is live nevertheless.
func TestWaitEndsWhenPinned(t *testing.T) {
	namespace := newNamespace(t)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1))}
	must(t, kube.Create(t.Context(), nginx))
	ready := func(text string) *when {
		return &when{text: text, do: func() { report(t, nginx, metav1.ConditionTrue, "") }}
	}
	flags := " --wait --timeout=20s -n " + namespace
	run(t, plane.Kubeconfig, ready("image set to"), strings.Fields("set image web nginx:1.30"+flags)...).
		want(t, 2, "the change does not go live: web is pinned to revision 1; to return to what the spec declares: kubectl nginx unpin web -n "+namespace)
	run(t, plane.Kubeconfig, ready("scaled to"), strings.Fields("scale web 3"+flags)...).want(t, 0, "web: ready")
	run(t, plane.Kubeconfig, ready("unpinned"), strings.Fields("unpin web"+flags)...).want(t, 0, "web: ready")
}

// TestWaitForBackup: --wait ends with a failure that is final, and goes on after one that is not.
func TestWaitForBackup(t *testing.T) {
	for name, tt := range map[string]struct {
		reasons []string
		code    int
		says    string
	}{
		"final":      {[]string{backupv1alpha1.ReasonDestinationInvalid}, 2, "cannot be completed: see above"},
		"then final": {[]string{"StoreUnavailable", backupv1alpha1.ReasonConflict}, 2, "cannot be completed: see above"},
		"then done":  {[]string{"StoreUnavailable", "Completed"}, 0, "Completed: "},
	} {
		t.Run(name, func(t *testing.T) {
			namespace, next := newNamespace(t), 0
			create(t, namespace, "web", metav1.ConditionTrue, "")
			step := func() {
				reportBackup(t, namespace, tt.reasons[next])
				next++
			}
			created, failed := &when{text: " created", do: step}, &when{text: "StoreUnavailable", do: step}
			command := strings.Fields("backup web --destination=pvc://backups --wait --timeout=20s -n " + namespace)
			run(t, plane.Kubeconfig, io.MultiWriter(created, failed), command...).want(t, tt.code, tt.says)
		})
	}
}

// reportBackup sets the condition Completed of the only backup of a namespace.
func reportBackup(t *testing.T, namespace, reason string) {
	t.Helper()
	backups := &backupv1alpha1.NginxBackupList{}
	must(t, kube.List(t.Context(), backups, client.InNamespace(namespace)))
	status := metav1.ConditionFalse
	if reason == "Completed" {
		status = metav1.ConditionTrue
	}
	backup := &backups.Items[0]
	backup.Status.Conditions = []metav1.Condition{{
		Type: backupv1alpha1.ConditionCompleted, Status: status, Reason: reason, Message: "the store says so", LastTransitionTime: metav1.Now(), ObservedGeneration: backup.Generation,
	}}
	must(t, kube.Status().Update(t.Context(), backup))
}

// TestWaitTimeout: a wait ends after its time, with the exit code of an application that is not ready.
func TestWaitTimeout(t *testing.T) {
	namespace := newNamespace(t)
	create(t, namespace, "web", metav1.ConditionTrue, "")
	kubectlNginx(t, "scale web 3 --wait --timeout=2s -n "+namespace).want(t, 2, "not ready in time: see kubectl nginx status web")
}

// TestWaitInterrupted: a user who interrupts --wait sees no error, and scripts see an exit code.
func TestWaitInterrupted(t *testing.T) {
	namespace := newNamespace(t)
	create(t, namespace, "web", metav1.ConditionTrue, "")
	for _, command := range []string{"scale web 3 --wait", "backup web --destination=pvc://backups --wait"} {
		ctx, interrupt := context.WithCancel(t.Context())
		started, errOut := &when{text: "web", do: interrupt}, &bytes.Buffer{}
		cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: started, ErrOut: errOut}, "test")
		cmd.SetArgs(append(strings.Fields(command), "-n", namespace, "--kubeconfig="+plane.Kubeconfig))
		if code := plugin.Run(ctx, cmd, errOut); code != 1 || errOut.Len() > 0 {
			t.Errorf("%s: exit code %d, %q", command, code, errOut)
		}
	}
}
