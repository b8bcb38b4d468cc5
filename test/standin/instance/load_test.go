package instance

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// TestRollsBack: the text of a configuration decides how its load ends.
func TestRollsBack(t *testing.T) {
	for text, want := range map[string]struct{ compares, probation, fatal bool }{
		"useless": {compares: true}, "brittle": {probation: true, fatal: true}, "fatal": {fatal: true}, "sticky": {},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			i := loading(t, text)
			if got := getStatus(t, i, true); got.Comparing != want.compares || got.OnProbation != want.probation {
				t.Errorf("it says %+v", got)
			}
			i.mu.Lock()
			i.since = i.since.Add(-doubt)
			i.mu.Unlock()
			got := getStatus(t, i, true)
			if got.Comparing || got.OnProbation || got.Serving != got.Stable || len(got.Revisions) != 1 ||
				got.Revisions[0].Load != instanceapi.Failed || got.Revisions[0].Fatal != want.fatal {
				t.Errorf("in the end it says %+v", got)
			}
		})
	}
}

// loading returns an instance that is requested to load a configuration.
func loading(t *testing.T, text string) *Instance {
	t.Helper()
	stable := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": "good"}}
	i, mounts := start(t, stable)
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMapNext("web")}, Data: map[string]string{"site.conf": text}}
	pod := &corev1.Pod{}
	if err := errors.Join(mounts.Create(t.Context(), next), mounts.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, pod)); err != nil {
		t.Fatal(err)
	}
	revision := nginxconf.Revision(next.Data)
	pod.Annotations = map[string]string{naming.AnnotationConfigTest: revision, naming.AnnotationConfig: revision}
	if err := mounts.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestRequestsOfAConfiguration: the requests before a load are included if no configuration is
// named.
func TestRequestsOfAConfiguration(t *testing.T) {
	i := &Instance{serving: "new", text: "faulty", before: content{"old", "good"}}
	if own, all := i.requests("new"), i.requests(""); own.Errors != own.Requests || all.Errors*100 > all.Requests {
		t.Errorf("%d of %d, %d of %d", own.Errors, own.Requests, all.Errors, all.Requests)
	}
	i.text = "unvisited"
	if got := i.requests("new"); got.Requests != 0 {
		t.Errorf("%d requests", got.Requests)
	}
}

// TestUnresponsive: the instance accepts a connection but does not respond.
func TestUnresponsive(t *testing.T) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": "mute"}}
	i, _ := start(t, config)
	if _, err := instanceapi.NewClient(100*time.Millisecond).Status(t.Context(), i.IP); err == nil {
		t.Error("it answers")
	}
}

// TestMissingCertificate: a configuration that reads a certificate that does not exist is rejected.
func TestMissingCertificate(t *testing.T) {
	i := &Instance{pairs: map[string]map[string]string{"shop": {}}}
	for text, want := range map[string]instanceapi.Verdict{
		"ssl_certificate /etc/nginx/tls/shop/tls.crt": instanceapi.Passed, "ssl_certificate /etc/nginx/tls/blog/tls.crt": instanceapi.Failed,
	} {
		if got := i.tested(content{"r", text}).Test; got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
