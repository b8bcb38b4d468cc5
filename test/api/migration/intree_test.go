package migration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/migration"
	"example.com/nginx-operator/test/testenv"
)

// withController runs Kubernetes' migration controller, together with the controller whose caches
// it uses.
func withController(t *testing.T) {
	t.Helper()
	m, err := plane.StartControllerManager(t.TempDir(), "garbage-collector-controller", "storage-version-migrator-controller")
	must(t, err)
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Errorf("stop kube-controller-manager: %v", err)
		}
		if err := kube.DeleteAllOf(context.Background(), &storagemigrationv1.StorageVersionMigration{}); err != nil {
			t.Error(err)
		}
	})
}

func inTree(method migration.Method) migration.Options {
	options := migration.DefaultOptions()
	options.Method = method
	return options
}

// refuse makes the API server reject writes of objects with a label, by an admission policy as in
// real clusters. It returns a function that lifts the policy.
func refuse(t *testing.T, label string) func() {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "refuse-" + label}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{v1alpha2.GroupVersion.Group},
						APIVersions: []string{"*"}, Resources: []string{"nginxoperators"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("!(has(object.metadata.labels) && %q in object.metadata.labels)", label), Message: "updates are refused",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	must(t, errors.Join(kube.Create(t.Context(), policy), kube.Create(t.Context(), binding)))
	lift := func() {
		err := errors.Join(kube.Delete(context.Background(), binding), kube.Delete(context.Background(), policy))
		if err := client.IgnoreNotFound(err); err != nil {
			t.Error(err)
		}
	}
	return lift
}

// waitLocked waits until the API server rejects writes of an object, or no longer does.
func waitLocked(t *testing.T, object *v1alpha2.NginxOperator, want bool) {
	t.Helper()
	must(t, eventually(t.Context(), func(ctx context.Context) error {
		err := kube.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"x":"y"}}}`)), client.DryRunAll)
		if refused := err != nil && strings.Contains(err.Error(), "updates are refused"); refused != want {
			return fmt.Errorf("refused: %t, want %t (%w)", refused, want, err)
		}
		return nil
	}))
}

func TestInTree(t *testing.T) {
	const n = 40
	namespace := downgrade(t)
	fill(t, namespace, n)
	quiet(t, namespace)
	upgrade(t)
	withController(t)
	before := all(t, namespace)
	must(t, kube.Create(t.Context(), testenv.Object("v1alpha2", "default", "busy")))
	defer keepBusy(t, "default", "busy")()
	said, err := migrate(t.Context(), plane.Config, inTree(migration.InTree))
	must(t, err)
	if !strings.Contains(said, "has succeeded") {
		t.Errorf("it says:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": n})
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha2"}) {
		t.Errorf("storedVersions = %v", got)
	}
	if diff := cmp.Diff(asCreated(before), asCreated(all(t, namespace))); diff != "" {
		t.Errorf("what users said was changed (-before +after):\n%s", diff)
	}
}

// TestInTreeInterrupted: if the command is killed right after it has requested a migration from
// Kubernetes, and before that has started, the next run continues with the same migration.
func TestInTreeInterrupted(t *testing.T) {
	namespace := downgrade(t)
	fill(t, namespace, 6)
	quiet(t, namespace)
	upgrade(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	out := &killer{text: "Created StorageVersionMigration", kill: kill}
	m, err := migration.New(plane.Config, inTree(migration.Auto), out)
	must(t, err)
	if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	withController(t)
	defer keepBusy(t, namespace, "web-000")()
	said, err := migrate(t.Context(), plane.Config, inTree(migration.Auto))
	must(t, err)
	if !strings.Contains(said, "is already in progress") || !strings.Contains(said, "has succeeded") {
		t.Errorf("run again, it says:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": 6})
}

// killer calls kill when a text is written.
type killer struct {
	text string
	kill func()
}

func (k *killer) Write(p []byte) (int, error) {
	if strings.Contains(string(p), k.text) {
		k.kill()
	}
	return len(p), nil
}

// TestInTreeFails: if an object cannot be written, Kubernetes 1.37 removes v1alpha1 from
// storedVersions all the same. The command restores it, names the object, and migrates the rest
// once the obstacle is gone.
func TestInTreeFails(t *testing.T) {
	namespace := downgrade(t)
	fill(t, namespace, 6)
	locked := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "locked", Labels: map[string]string{"locked": ""}}}
	must(t, kube.Create(t.Context(), locked))
	quiet(t, namespace)
	lift := refuse(t, "locked")
	waitLocked(t, locked, true)
	upgrade(t)
	withController(t)
	defer keepBusy(t, namespace, "web-000")()

	_, err := migrate(t.Context(), plane.Config, inTree(migration.InTree))
	if err == nil || !strings.Contains(err.Error(), "has failed") || !strings.Contains(err.Error(), "updates are refused") {
		t.Errorf("in-tree, it ended with %v", err)
	}
	wantBothVersions(t)
	_, err = migrate(t.Context(), plane.Config, inTree(migration.Auto))
	if err == nil || !strings.Contains(err.Error(), "rejects 1 of 7 objects") || !strings.Contains(err.Error(), namespace+"/locked") {
		t.Errorf("it ended with %v", err)
	}
	wantBothVersions(t)
	wantStored(t, namespace, map[string]int{"v1alpha1": 1, "v1alpha2": 6})

	lift()
	waitLocked(t, locked, false)
	said, err := migrate(t.Context(), plane.Config, rewriting())
	must(t, err)
	wantStored(t, namespace, map[string]int{"v1alpha2": 7})
	if got := storedVersions(t); !slices.Equal(got, []string{"v1alpha2"}) {
		t.Errorf("storedVersions = %v:\n%s", got, said)
	}
	said, err = migrate(t.Context(), plane.Config, rewriting())
	must(t, err)
	if !strings.Contains(said, "Nothing to do") {
		t.Errorf("run again, it says:\n%s", said)
	}
}

// keepBusy writes an object repeatedly until the returned function is called. Kubernetes starts a
// migration only when its caches are recent enough, which takes a minute if nothing changes.
func keepBusy(t *testing.T, namespace, name string) func() {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			object := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"busy":"%d"}}}`, i)
			if err := kube.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func wantBothVersions(t *testing.T) {
	t.Helper()
	if got := storedVersions(t); !slices.Contains(got, "v1alpha1") || !slices.Contains(got, "v1alpha2") {
		t.Errorf("storedVersions = %v although an object is stored as v1alpha1", got)
	}
}

// TestNoTokenNoLoad: if the API for migrations exists but no controller starts one, the method
// in-tree fails and auto writes the objects itself.
func TestNoTokenNoLoad(t *testing.T) {
	namespace := downgrade(t)
	fill(t, namespace, 6)
	quiet(t, namespace)
	upgrade(t)
	options := inTree(migration.InTree)
	options.StartTimeout = time.Second
	_, err := migrate(t.Context(), plane.Config, options)
	if err == nil || !strings.Contains(err.Error(), "did not start within") {
		t.Errorf("in-tree, it ended with %v", err)
	}
	options.Method = migration.Auto
	said, err := migrate(t.Context(), plane.Config, options)
	must(t, err)
	if !strings.Contains(said, "This command rewrites the objects instead") {
		t.Errorf("it says:\n%s", said)
	}
	wantStored(t, namespace, map[string]int{"v1alpha2": 6})
	left := &storagemigrationv1.StorageVersionMigrationList{}
	must(t, kube.List(t.Context(), left))
	if len(left.Items) > 0 {
		t.Errorf("%d StorageVersionMigrations are left", len(left.Items))
	}
}

// TestMinimalRights: the permissions of config/migration suffice for a migration.
func TestMinimalRights(t *testing.T) {
	namespace := downgrade(t)
	fill(t, namespace, 4)
	quiet(t, namespace)
	upgrade(t)
	must(t, createRights(t.Context()))
	config := rest.CopyConfig(plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nginx-operator-system:nginx-operator-migration",
		Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	options := inTree(migration.Auto)
	options.StartTimeout = time.Second
	_, err := migrate(t.Context(), config, options)
	must(t, err)
	wantStored(t, namespace, map[string]int{"v1alpha2": 4})
}

// createRights creates the RBAC objects of config/migration.
func createRights(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "config", "migration", "rbac.yaml"))
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			return err
		}
		if err := kube.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}
