package migration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/conversion"
	"example.com/nginx-operator/internal/nginx/migration"
	"example.com/nginx-operator/test/testenv"
)

var must = kubetest.Must

// downgrade returns the cluster to an earlier CRD that stores v1alpha1, with no object stored as
// anything else, and returns a namespace for the test.
func downgrade(t *testing.T) string {
	t.Helper()
	clear := func(ctx context.Context) error {
		return eventually(ctx, func(ctx context.Context) error {
			namespaces := &corev1.NamespaceList{}
			if err := kube.List(ctx, namespaces); err != nil {
				return err
			}
			for _, ns := range namespaces.Items {
				if err := kube.DeleteAllOf(ctx, &v1alpha2.NginxOperator{}, client.InNamespace(ns.Name)); err != nil {
					return err
				}
			}
			stored, err := plane.Stored(ctx)
			if err == nil && len(stored) > 0 {
				err = fmt.Errorf("%d objects are left", len(stored))
			}
			return err
		})
	}
	must(t, clear(t.Context()))
	must(t, plane.StoreAs(t.Context(), "v1alpha1"))
	must(t, plane.SetStoredVersions(t.Context(), "v1alpha1"))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	t.Cleanup(func() {
		if err := clear(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return namespace.Name
}

func eventually(ctx context.Context, check func(context.Context) error) error {
	return kubetest.Poll{Interval: 20 * time.Millisecond, Timeout: patience}.Until(ctx, check)
}

// upgrade upgrades to the current CRD.
func upgrade(t *testing.T) {
	t.Helper()
	must(t, plane.StoreAs(t.Context(), "v1alpha2"))
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha1", "v1alpha2"}) {
		t.Fatalf("storedVersions = %v", got)
	}
}

func storedVersions(t *testing.T) []string {
	t.Helper()
	crd, err := plane.LiveCRD(t.Context())
	must(t, err)
	return crd.Status.StoredVersions
}

// counts returns how many objects of a namespace are stored as which version.
func counts(t *testing.T, namespace string) map[string]int {
	t.Helper()
	stored, err := plane.Stored(t.Context())
	must(t, err)
	n := map[string]int{}
	for key, version := range stored {
		if strings.HasPrefix(key, namespace+"/") {
			n[version]++
		}
	}
	return n
}

func wantStored(t *testing.T, namespace string, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, counts(t, namespace)); diff != "" {
		t.Errorf("stored versions (-want +got):\n%s", diff)
	}
}

// fill creates n objects, half of them by clients of v1alpha2 with fields that v1alpha1 does not
// have. They are suspended, so that the operator writes each status only once.
func fill(t *testing.T, namespace string, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("web-%03d", i)
		if i%2 == 0 {
			old := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"n": fmt.Sprint(i)}}}
			old.Spec.Port, old.Spec.ForceRedeploy = new(int32(8000+i)), new(fmt.Sprint(i))
			must(t, kube.Create(t.Context(), old))
			continue
		}
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"n": fmt.Sprint(i)}}}
		nginx.Spec = v1alpha2.NginxOperatorSpec{
			Replicas: new(int32(i)),
			Image:    new(fmt.Sprintf("nginx:%d", i)),
			Ports:    []v1alpha2.Port{{Name: "web", Port: 80}, {Name: "admin", Port: 8080}},
			Config:   &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(fmt.Sprintf("# %d\nserver { listen 80; }\n", i))}},
		}
		must(t, kube.Create(t.Context(), nginx))
	}
}

// quiet waits until the operator has written the status of every object, so that it is not the
// operator that rewrites them.
func quiet(t *testing.T, namespace string) {
	t.Helper()
	must(t, eventually(t.Context(), func(ctx context.Context) error {
		list := &v1alpha2.NginxOperatorList{}
		if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, nginx := range list.Items {
			if nginx.Status.ObservedGeneration != nginx.Generation {
				return fmt.Errorf("the operator has not seen %s", nginx.Name)
			}
		}
		return nil
	}))
}

// all reads the objects of a namespace, without the metadata that the storage adds.
func all(t *testing.T, namespace string) map[string]v1alpha2.NginxOperator {
	t.Helper()
	list := &v1alpha2.NginxOperatorList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace)))
	objects := map[string]v1alpha2.NginxOperator{}
	for _, nginx := range list.Items {
		nginx.ResourceVersion = ""
		objects[nginx.Name] = nginx
	}
	return objects
}

// asCreated reduces objects to what users have declared and to their identity.
func asCreated(objects map[string]v1alpha2.NginxOperator) map[string]v1alpha2.NginxOperator {
	objects = maps.Clone(objects)
	for name, nginx := range objects {
		nginx.ManagedFields, nginx.Status = nil, v1alpha2.NginxOperatorStatus{}
		objects[name] = nginx
	}
	return objects
}

func rewriting() migration.Options {
	options := migration.DefaultOptions()
	options.Method, options.PageSize, options.Concurrency = migration.Rewrite, 7, 4
	return options
}

// migrate runs the migration and returns its output.
func migrate(ctx context.Context, config *rest.Config, options migration.Options) (string, error) {
	var out bytes.Buffer
	m, err := migration.New(config, options, &out)
	if err != nil {
		return "", err
	}
	err = m.Run(ctx)
	return out.String(), err
}

func TestRewrite(t *testing.T) {
	const n = 40
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	wantStored(t, namespace, map[string]int{"v1alpha1": n})
	upgrade(t)
	before := all(t, namespace)

	said, err := migrate(t.Context(), plane.Config, rewriting())
	must(t, err)
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha2"}) {
		t.Errorf("storedVersions = %v", got)
	}
	if diff := cmp.Diff(asCreated(before), asCreated(all(t, namespace))); diff != "" {
		t.Errorf("what users said was changed (-before +after):\n%s", diff)
	}
	for _, text := range []string{"40 objects", "Done"} {
		if !strings.Contains(said, text) {
			t.Errorf("it does not say %q:\n%s", text, said)
		}
	}

	versions := resourceVersions(t, namespace)
	said, err = migrate(t.Context(), plane.Config, rewriting())
	must(t, err)
	if !strings.Contains(said, "Nothing to do") {
		t.Errorf("run again, it says:\n%s", said)
	}
	forced := rewriting()
	forced.Force = true
	_, err = migrate(t.Context(), plane.Config, forced)
	must(t, err)
	if diff := cmp.Diff(versions, resourceVersions(t, namespace)); diff != "" {
		t.Errorf("what was migrated is written again (-before +after):\n%s", diff)
	}
}

func resourceVersions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	list := &v1alpha2.NginxOperatorList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace)))
	versions := map[string]string{}
	for _, nginx := range list.Items {
		versions[nginx.Name] = nginx.ResourceVersion
	}
	return versions
}

func TestDryRun(t *testing.T) {
	namespace := downgrade(t)
	fill(t, namespace, 6)
	quiet(t, namespace)
	upgrade(t)
	options := rewriting()
	options.DryRun = true
	said, err := migrate(t.Context(), plane.Config, options)
	must(t, err)
	if !strings.Contains(said, "6 objects would be rewritten, 0 would be rejected") {
		t.Errorf("it says:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha1": 6})
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha1", "v1alpha2"}) {
		t.Errorf("storedVersions = %v", got)
	}
}

func TestOlderCRDIsRefused(t *testing.T) {
	downgrade(t)
	_, err := migrate(t.Context(), plane.Config, rewriting())
	if err == nil || !strings.Contains(err.Error(), `stores "v1alpha1": apply the CRD of this release`) {
		t.Errorf("error = %v", err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// through returns a configuration whose requests go through round.
func through(round func(next http.RoundTripper, r *http.Request) (*http.Response, error)) *rest.Config {
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) { return round(next, r) })
	})
	return config
}

// TestInterrupted: if the migration is killed at any of its writes, before or after it reaches the
// API server, the next run makes progress, nothing is lost, and storedVersions never claims more
// than is true.
func TestInterrupted(t *testing.T) {
	const n = 8
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)
	before := all(t, namespace)

	for at := int64(1); ; at++ {
		ctx, kill := context.WithCancel(t.Context())
		var writes atomic.Int64
		config := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet || writes.Add(1) != at {
				return next.RoundTrip(r)
			}
			defer kill()
			if at%2 == 0 {
				return nil, context.Canceled
			}
			response, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
			if err == nil {
				err = response.Body.Close()
			}
			return nil, errors.Join(err, context.Canceled)
		})
		_, err := migrate(ctx, config, rewriting())
		kill()
		left := counts(t, namespace)["v1alpha1"]
		if done := slices.Equal(storedVersions(t), []string{"v1alpha2"}); done && left > 0 {
			t.Fatalf("killed at write %d: storedVersions hides %d objects", at, left)
		}
		if err == nil {
			t.Logf("%d runs were killed", at-1)
			break
		}
		if at > 10*n {
			t.Fatalf("it does not come to an end: %v", err)
		}
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
	if diff := cmp.Diff(asCreated(before), asCreated(all(t, namespace))); diff != "" {
		t.Errorf("what users said was changed (-before +after):\n%s", diff)
	}
}

// TestConcurrentWriters: edits, deletions and creations during the migration are kept.
func TestConcurrentWriters(t *testing.T) {
	const n = 60
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)

	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range n {
			key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("web-%03d", i)}
			if err := interfere(t.Context(), key, i); err != nil {
				t.Errorf("%s: %v", key.Name, err)
			}
		}
	})
	for range 3 {
		options := rewriting()
		options.Force = true
		if _, err := migrate(t.Context(), plane.Config, options); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	objects := all(t, namespace)
	for i := range n {
		nginx, there := objects[fmt.Sprintf("web-%03d", i)]
		_, created := objects[fmt.Sprintf("new-%03d", i)]
		if there != (i%4 != 2) || created != (i%4 == 3) {
			t.Errorf("object %d: there: %t, created: %t", i, there, created)
		}
		if i%4 < 2 && *nginx.Spec.Replicas != int32(100+i) {
			t.Errorf("object %d: replicas = %d", i, *nginx.Spec.Replicas)
		}
	}
	if left := counts(t, namespace)["v1alpha1"]; left > 0 {
		t.Errorf("%d objects are stored as v1alpha1", left)
	}
}

func interfere(ctx context.Context, key client.ObjectKey, i int) error {
	switch i % 4 {
	case 0:
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			old := &v1alpha1.NginxOperator{}
			if err := kube.Get(ctx, key, old); err != nil {
				return err
			}
			old.Spec.Replicas = new(int32(100 + i))
			return kube.Update(ctx, old)
		})
	case 1:
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			nginx := &v1alpha2.NginxOperator{}
			if err := kube.Get(ctx, key, nginx); err != nil {
				return err
			}
			nginx.Spec.Replicas = new(int32(100 + i))
			return kube.Update(ctx, nginx)
		})
	case 2:
		return kube.Delete(ctx, &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	default:
		return kube.Create(ctx, testenv.Object("v1alpha1", key.Namespace, strings.Replace(key.Name, "web", "new", 1)))
	}
}

// TestExpiredToken: the migration completes although the API server has expired the state of a list
// at its second page.
func TestExpiredToken(t *testing.T) {
	const n = 20
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)
	var expired atomic.Int64
	config := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("continue") == "" || expired.Add(1) != 1 {
			return next.RoundTrip(r)
		}
		const gone = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","code":410,"message":"too old"}`
		return &http.Response{StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(gone)), Request: r}, nil
	})
	said, err := migrate(t.Context(), config, rewriting())
	must(t, err)
	if expired.Load() < 2 {
		t.Errorf("no page followed:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
}

// TestChangedCRD: if the CRD changes while objects are written, another pass makes sure that all
// are written under the same CRD.
func TestChangedCRD(t *testing.T) {
	const n = 10
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)
	var writes atomic.Int64
	config := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		// The last write of the second pass.
		if r.Method == http.MethodPatch && writes.Add(1) == 2*n {
			err := plane.ChangeCRD(r.Context(), func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Names.Categories = append(crd.Spec.Names.Categories, "changed")
			})
			if err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(r)
	})
	said, err := migrate(t.Context(), config, rewriting())
	must(t, err)
	if !strings.Contains(said, "The CRD changed in the meantime") || !strings.Contains(said, "Pass 3") {
		t.Errorf("it says:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
}

// TestByHand: the runbook's steps work without the command and without a StorageVersionMigration.
func TestByHand(t *testing.T) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	_, err := os.Stat(kubectl)
	must(t, err)
	const n = 6
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)
	before := all(t, namespace)
	script := exec.CommandContext(t.Context(), "sh", "-ec", `
		"$0" get nginxoperators -A -o json | "$0" replace -f -
		"$0" patch crd nginxoperators.operator.example.com --subresource=status --type=merge -p '{"status":{"storedVersions":["v1alpha2"]}}'`, kubectl)
	script.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig)
	if output, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha2"}) {
		t.Errorf("storedVersions = %v", got)
	}
	if diff := cmp.Diff(asCreated(before), asCreated(all(t, namespace))); diff != "" {
		t.Errorf("what users said was changed (-before +after):\n%s", diff)
	}
}

// TestStoredObjectsCanBeRead: an object that an earlier CRD has stored, without knowing the
// annotation, can be read even if it cannot be converted to a valid one. Otherwise listing all
// objects would fail, for the operator as well.
func TestStoredObjectsCanBeRead(t *testing.T) {
	namespace := downgrade(t)
	for name, hides := range map[string]string{"none": "", "no-spec": `{`, "invalid": `{"image":"nginx latest"}`} {
		old := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if hides != "" {
			old.Annotations = map[string]string{conversion.AnnotationSpec: hides}
		}
		must(t, kube.Create(t.Context(), old))
	}
	upgrade(t)
	if got := slices.Sorted(maps.Keys(all(t, namespace))); !slices.Equal(got, []string{"invalid", "no-spec", "none"}) {
		t.Errorf("objects = %v", got)
	}
	_, err := migrate(t.Context(), plane.Config, rewriting())
	must(t, err)
	wantStored(t, namespace, map[string]int{"v1alpha2": 3})
	must(t, eventually(t.Context(), func(ctx context.Context) error {
		refused := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "refused",
			Annotations: map[string]string{conversion.AnnotationSpec: `{"image":"nginx latest"}`}}}
		if err := kube.Create(ctx, refused, client.DryRunAll); err == nil {
			return errors.New("an invalid spec is accepted in the annotation although nothing is stored as v1alpha1")
		}
		return nil
	}))
}
