package instance

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/testenv"
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

// TestGeneratedConfigurationsHaveNoFate: no word in a configuration that the operator generates decides its fate.
func TestGeneratedConfigurationsHaveNoFate(t *testing.T) {
	files := map[string]string{}
	folder := filepath.Join(testenv.Root(), "internal/cache/cacheconf/testdata")
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), folder, err)
	}
	c := contentOf(files)
	for _, fate := range []string{"bad", "sticky", "fatal", "useless", "brittle", "greedy", "faulty", "unvisited", "mute"} {
		if before, _, found := strings.Cut(c.text, fate); found {
			t.Errorf("%q is in a generated configuration, after %q", fate, before[max(0, len(before)-80):])
		}
	}
}

var (
	operatorKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	trusted     = instanceapi.Trust{
		Application: instanceapi.Application{Namespace: "shop", Name: "web", UID: "u1"},
		Keys:        []instanceapi.PublicKey{instanceapi.NewPublicKey(operatorKey.Public().(ed25519.PublicKey))},
	}
)

// candidate returns the ConfigMap of the candidate, with the trust file.
func candidate(t *testing.T, text string) *corev1.ConfigMap {
	t.Helper()
	trust, err := trusted.Text()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMapNext("web")},
		Data:       map[string]string{"site.conf": text}, BinaryData: map[string][]byte{instanceapi.FileTrust: []byte(trust)},
	}
}

// order sends an instance the next order.
func order(t *testing.T, i *Instance, requested instanceapi.Requested, contents instanceapi.Contents) (instanceapi.Status, error) {
	t.Helper()
	client := instanceapi.NewClient(time.Second)
	status, err := client.Status(t.Context(), i.IP)
	if err != nil {
		t.Fatal(err)
	}
	body, err := instanceapi.EncodeContents(contents)
	if err != nil {
		t.Fatal(err)
	}
	next := status.Orders.Next(requested, time.Now())
	next.First = true
	signed, err := instanceapi.Sign(operatorKey, next, body)
	if err != nil {
		t.Fatal(err)
	}
	return client.Order(t.Context(), i.IP, signed)
}

// loading returns an instance that was ordered to load a configuration.
func loading(t *testing.T, text string) *Instance {
	t.Helper()
	stable := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": "good"}}
	i, mounts := start(t, stable)
	next := candidate(t, text)
	if err := mounts.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	revision := nginxconf.Revision(next.Data)
	if _, err := order(t, i, instanceapi.Requested{Test: revision, Load: revision}, instanceapi.Contents{revision: next.Data}); err != nil {
		t.Fatal(err)
	}
	return i
}

// checkRefusal fails the test unless an order was refused for a reason.
func checkRefusal(t *testing.T, step string, err error, want instanceapi.Refusal) {
	t.Helper()
	refused := &instanceapi.RefusedError{}
	if !errors.As(err, &refused) || refused.Refusal != want {
		t.Errorf("%s: %v", step, err)
	}
}

// TestOrders: an instance carries out an order whose files are not mounted, and only the operator's orders.
func TestOrders(t *testing.T) {
	stable := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": "good"}}
	i, mounts := start(t, stable)
	better := map[string]string{"site.conf": "better"}
	revision := nginxconf.Revision(better)
	requested, contents := instanceapi.Requested{Test: revision, Load: revision}, instanceapi.Contents{revision: better}
	_, err := order(t, i, requested, contents)
	checkRefusal(t, "without a trust file", err, instanceapi.UnknownKey)
	if err := mounts.Create(t.Context(), candidate(t, "mounted")); err != nil {
		t.Fatal(err)
	}
	status, err := order(t, i, requested, contents)
	if err != nil || status.Serving != revision || status.Requested != requested || !slices.Contains(status.Available, revision) || i.Text() != "better" {
		t.Errorf("status %+v (%v)", status, err)
	}
	last := status.Orders.Number
	back := instanceapi.Requested{Test: revision, Load: nginxconf.Revision(stable.Data)}
	_, err = order(t, i, back, nil)
	checkRefusal(t, "without the files", err, instanceapi.MissingFiles)
	if status, err := order(t, i, back, instanceapi.Contents{back.Load: stable.Data}); err != nil || status.Serving != back.Load || status.Orders.Number <= last {
		t.Errorf("status %+v (%v)", status, err)
	}
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
