package controller_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/backup"
	"example.com/nginx-operator/internal/backup/controller/restore"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/test/golden"
)

// restoreIn returns a restore of a namespace. Its name is its UID, too.
func restoreIn(namespace, name string) *v1alpha1.NginxRestore {
	return aRestore(fromLocation("s3://backups/nginx", namespace+"/web/web-1-01234567"), func(r *v1alpha1.NginxRestore) {
		r.Namespace, r.Name, r.UID = namespace, name, types.UID(name)
	})
}

// answerOf returns what the pod of a restore serves: an application with a ConfigMap of a size.
func answerOf(r *v1alpha1.NginxRestore, size int) []byte {
	info := archive.Info{Format: archive.Format, Name: "web-1", Namespace: r.Namespace, Application: archive.Application{Name: "web", Generation: 1}}
	meta := `"metadata":{"namespace":"` + r.Namespace + `","name":"`
	application := `{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator",` + meta + `web"},"spec":{"config":{"configMap":{"name":"conf"}}}}`
	configMap := `{"apiVersion":"v1","kind":"ConfigMap",` + meta + `conf"},"data":{"nginx.conf":"` + strings.Repeat("#", size) + `"}}`
	request := httptest.NewRequest(http.MethodGet, "/documents", http.NoBody)
	request.Header.Set("Authorization", "Bearer "+job.RestoreAuthToken(r))
	answer := httptest.NewRecorder()
	declarations.Handler(job.RestoreAuthToken(r), declarations.BackupInfo{Info: info, SHA256: "ab12"}, []archive.File{
		{Path: archive.ApplicationPath, Data: []byte(application)}, {Path: archive.ConfigMapsFolder + "conf.yaml", Data: []byte(configMap)},
	}).ServeHTTP(answer, request)
	return answer.Body.Bytes()
}

// answers has the answers of pods, by their address. The pod at slowIP sends half of its answer.
type answers map[string][]byte

const slowIP = "10.0.0.1"

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	ip := r.URL.Hostname()
	body := io.Reader(bytes.NewReader(a[ip]))
	if ip == slowIP {
		body = io.MultiReader(bytes.NewReader(a[ip][:len(a[ip])/2]), endless{r.Context()})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Request: r}, nil
}

// endless never sends anything.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

// serve starts the job of a restore, with a ready pod at an address.
func (s *stage) serve(reconciler *restore.Reconciler, r *v1alpha1.NginxRestore, ip string) {
	s.t.Helper()
	if _, err := reconciler.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r)}); err != nil {
		s.t.Fatal(err)
	}
	list := &batchv1.JobList{}
	if err := s.client.List(s.t.Context(), list, client.MatchingLabels{v1alpha1.LabelRestore: r.Name}); err != nil || len(list.Items) != 1 {
		s.t.Fatalf("there are %d jobs: %v", len(list.Items), err)
	}
	j := &list.Items[0]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace, Name: j.Name, Labels: j.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if err := s.client.Create(s.t.Context(), pod); err != nil {
		s.t.Fatal(err)
	}
}

// newRestores returns the controller of restores, with pods that answer.
func (s *stage) newRestores(pods answers) *restore.Reconciler {
	return &restore.Reconciler{
		Client: s.client, Live: s.client, Runner: s.runner, Recorder: s.recorder, Clock: s.clock,
		HTTP: &http.Client{Transport: pods}, Memory: controller.NewMemory(),
	}
}

const largeConfig = 900 << 10

// TestSlowNamespace: while the pod of a large restore sends nothing more, a large restore and a backup of another namespace
// continue. Another large restore of the slow namespace waits, and does not count as failed.
func TestSlowNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, second, other := restoreIn("slow", "slow"), restoreIn("slow", "second"), restoreIn("shop", "other")
		s := newStage(t, &golden.Messages{}, 8, slow, second, other, aBackup(), anApplication())
		other.Spec.OnConflict = v1alpha1.ConflictOverwrite
		if err := s.client.Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		pods := answers{slowIP: answerOf(slow, largeConfig), "10.0.0.2": answerOf(second, largeConfig), "10.0.0.3": answerOf(other, largeConfig)}
		restores := s.newRestores(pods)
		backups := &backup.Reconciler{
			Client: s.client, Live: s.client, Runner: s.runner, Recorder: s.recorder, Version: "0.4.0", Clock: s.clock, Memory: restores.Memory,
		}
		s.serve(restores, slow, slowIP)
		s.serve(restores, second, "10.0.0.2")
		s.serve(restores, other, "10.0.0.3")

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = restores.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(slow)})
		}()
		synctest.Wait()
		if _, err := backups.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(aBackup())}); err != nil {
			t.Errorf("the backup of another namespace: %v", err)
		}
		if _, err := restores.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(other)}); err != nil {
			t.Errorf("the restore of another namespace: %v", err)
		}
		if s.refresh(other); other.Status.CompletionTime == nil {
			t.Errorf("another namespace is not restored: %+v", other.Status.Conditions)
		}
		result, err := restores.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(second)})
		if s.refresh(second); err != nil || result.RequeueAfter != controller.MemoryRetry || second.Status.Conditions[0].Message != controller.MemoryMessage {
			t.Errorf("the second restore of the slow namespace: %v, %v, %+v", result, err, second.Status.Conditions)
		}
		select {
		case <-ended:
			t.Error("the slow pod was not waited for")
		default:
		}
		cancel()
		<-ended
	})
}

func (s *stage) refresh(r *v1alpha1.NginxRestore) {
	s.t.Helper()
	if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		s.t.Fatal(err)
	}
}

// TestOneRestoreOfAnApplication: while the API server validates what one restore writes, another one of the same application
// writes nothing.
func TestOneRestoreOfAnApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := restoreIn("shop", "first"), restoreIn("shop", "second")
		writing, written := make(chan struct{}), make(chan struct{})
		configMaps := 0
		s := newStageThatRefuses(t, &golden.Messages{}, 8, func(o client.Object) error {
			if _, ok := o.(*corev1.ConfigMap); ok {
				if configMaps++; configMaps == 1 {
					close(writing)
					<-written
				}
			}
			return nil
		}, first, second)
		restores := s.newRestores(answers{"10.0.0.2": answerOf(first, 1), "10.0.0.3": answerOf(second, 1)})
		s.serve(restores, first, "10.0.0.2")
		s.serve(restores, second, "10.0.0.3")
		ended := make(chan error)
		go func() {
			_, err := restores.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(first)})
			ended <- err
		}()
		<-writing
		if _, err := restores.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(second)}); err != nil {
			t.Error(err)
		}
		s.refresh(second)
		if message := second.Status.Conditions[0].Message; configMaps > 1 || !strings.Contains(message, "NginxRestore first") {
			t.Errorf("%d ConfigMaps are written, %s", configMaps, message)
		}
		close(written)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if s.refresh(first); first.Status.CompletionTime == nil {
			t.Errorf("nothing is restored: %+v", first.Status.Conditions)
		}
	})
}
