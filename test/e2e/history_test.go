//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// revision is an entry of the history as a user sees it.
type revision struct {
	Name, State, Cause, Image, Digest, Config, Served, Failed string
	Number                                                    int64
}

// revisionsOf returns the history of an application, sorted by number.
func revisionsOf(t *testing.T, nginx *v1alpha2.NginxOperator) []revision {
	t.Helper()
	list := &appsv1.ControllerRevisionList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))))
	var all []revision
	for _, o := range list.Items {
		a := o.Annotations
		all = append(all, revision{
			Name: o.Name, State: o.Labels[naming.LabelRevisionState], Number: o.Revision, Cause: a[naming.AnnotationChangeCause],
			Image: a[naming.AnnotationImage], Digest: a[naming.AnnotationImageDigest], Config: a[naming.AnnotationConfig],
			Served: a[naming.AnnotationServedAt], Failed: a[naming.AnnotationFailedReason],
		})
	}
	slices.SortFunc(all, func(a, b revision) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// recordedConfig reads the configuration in a ControllerRevision.
func recordedConfig(t *testing.T, nginx *v1alpha2.NginxOperator, name string) nginxconf.Files {
	t.Helper()
	o := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: name}}
	must(t, get(t, o))
	var data history.Data
	must(t, json.Unmarshal(o.Data.Raw, &data))
	return data.Config.Files
}

// checkGood checks the values that differ from run to run.
func checkGood(t *testing.T, r revision, start time.Time) {
	t.Helper()
	if r.State != string(history.StateGood) {
		return
	}
	served, err := time.Parse(time.RFC3339Nano, r.Served)
	if err != nil || served.Before(start) || served.After(time.Now().Add(time.Second)) {
		t.Errorf("revision %d served at %q: %v", r.Number, r.Served, err)
	}
	if !strings.HasPrefix(r.Digest, "sha256:") {
		t.Errorf("revision %d has the image digest %q", r.Number, r.Digest)
	}
}

// TestHistory: the history records images, configurations and failures.
func TestHistory(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-time.Second)
	spec := saying("one", 1)
	spec.Image, spec.Rollout = new(oldestImage()), patient()
	nginx := createReady(t, newNamespace(t), "web", spec)
	eventually(t, "the first revision has its image's digest", func() error {
		// A kubelet may report that a pod is ready before it reports the image that the pod runs.
		if all := revisionsOf(t, nginx); len(all) != 1 || all[0].Digest == "" {
			return fmt.Errorf("there are %+v", all)
		}
		return nil
	})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("two") })
	waitReady(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitReady(t, nginx)
	pods := podUIDs(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = crashing("license file is missing") })
	waitRolledBack(t, nginx, pods, "license file is missing")

	one, two := nginxconf.Files{"site.conf": siteSaying("one")}, nginxconf.Files{"site.conf": siteSaying("two")}
	first, second := nginxconf.Revision(one), nginxconf.Revision(two)
	got := revisionsOf(t, nginx)
	for i := range got {
		checkGood(t, got[i], start)
		got[i].Name, got[i].Served, got[i].Digest = "", "", strings.Split(got[i].Digest, ":")[0]
	}
	want := []revision{
		{Number: 1, State: "good", Cause: "first rollout", Image: oldestImage(), Digest: "sha256", Config: first},
		{Number: 2, State: "good", Cause: "configuration " + first + " → " + second, Image: oldestImage(), Digest: "sha256", Config: second},
		{Number: 3, State: "good", Cause: "image " + oldestImage() + " → " + newestImage(), Image: newestImage(), Digest: "sha256", Config: second},
		{Number: 4, State: "failed", Cause: "podTemplate", Image: newestImage(), Config: second, Failed: v1alpha2.ReasonContainerCrashed},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	for i, files := range []nginxconf.Files{one, two, two, two} {
		if diff := gocmp.Diff(files, recordedConfig(t, nginx, revisionsOf(t, nginx)[i].Name)); diff != "" {
			t.Errorf("the files of revision %d (-want +got):\n%s", i+1, diff)
		}
	}
	output, err := kubectl(t, "get", "controllerrevisions", "-n", nginx.Namespace, "-L", naming.LabelRevisionState)
	if err != nil || !strings.Contains(output, "good") || !strings.Contains(output, "failed") {
		t.Errorf("kubectl: %v: %s", err, output)
	}
}

// TestHistoryIsLimited: the history keeps the last ten good revisions.
func TestHistoryIsLimited(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("0", 1))
	const changes = history.Limit + 2
	for i := range changes {
		files := map[string]string{"site.conf": siteSaying(fmt.Sprint(i + 1))}
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = filesConfig(files) })
		waitLive(t, nginx, nginxconf.Revision(files))
		waitReady(t, nginx)
	}
	eventually(t, "the oldest ones are gone", func() error {
		all := revisionsOf(t, nginx)
		if len(all) != history.Limit || all[0].Number != changes+2-history.Limit || all[len(all)-1].Number != changes+1 {
			return fmt.Errorf("there are %+v", all)
		}
		return nil
	})
}

// TestToRevision: an application can return to an older revision, with pods and configuration, and
// forward again.
func TestToRevision(t *testing.T) {
	t.Parallel()
	spec := saying("hello one", 2)
	spec.Image = new(oldestImage())
	nginx := createReady(t, newNamespace(t), "web", spec)
	oldest := stableFiles(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("hello two") })
	waitReady(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image, s.Config = new(newestImage()), says("hello three") })
	waitReady(t, nginx)
	newest := stableFiles(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	runs := func(image, answer string, files map[string]string) {
		t.Helper()
		for _, pod := range podsOf(t, nginx) {
			if got := pod.Spec.Containers[0].Image; got != image {
				t.Errorf("pod %s runs %s, want %s", pod.Name, got, image)
			}
		}
		waitAnswer(t, nginx, answer)
		if diff := gocmp.Diff(files, stableFiles(t, nginx)); diff != "" {
			t.Errorf("what pods start with (-want +got):\n%s", diff)
		}
	}
	to := func(number *int64) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout = &v1alpha2.Rollout{ToRevision: number} })
	}
	to(new(int64(1)))
	waitReady(t, nginx)
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionTrue, v1alpha2.ReasonPinned, "revision 1", "toRevision")
	runs(oldestImage(), "hello one", oldest)

	pods := podUIDs(t, nginx)
	to(new(int64(99)))
	waitMessage(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonRevisionNotFound, "99")
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonRevisionNotFound)
	passOver(t, nginx, "after a number that is not there")
	waitOnly(t, nginx, pods)
	runs(oldestImage(), "hello one", oldest)

	to(nil)
	waitReady(t, nginx)
	runs(newestImage(), "hello three", newest)
	traffic.stop(t)
}
