package migration

import (
	"slices"
	"strings"
	"testing"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// crdWith returns a CRD with a storage version, stored versions and conditions.
func crdWith(storage string, stored []string, conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for _, name := range []string{"v1alpha1", "v1alpha2"} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Storage: name == storage})
	}
	crd.Status.StoredVersions, crd.Status.Conditions = stored, conditions
	return crd
}

func storageMigrating(status apiextensionsv1.ConditionStatus, reason string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.StorageMigrating, Status: status, Reason: reason}
}

func TestIsDone(t *testing.T) {
	newest, both := []string{"v1alpha2"}, []string{"v1alpha1", "v1alpha2"}
	for name, tt := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want bool
	}{
		"never anything else":    {crdWith("v1alpha2", newest), true},
		"both":                   {crdWith("v1alpha2", both), false},
		"migrated by Kubernetes": {crdWith("v1alpha2", newest, storageMigrating(apiextensionsv1.ConditionFalse, reasonSucceeded)), true},
		"Kubernetes has failed":  {crdWith("v1alpha2", newest, storageMigrating(apiextensionsv1.ConditionFalse, reasonFailed)), false},
		"Kubernetes is at it":    {crdWith("v1alpha2", both, storageMigrating(apiextensionsv1.ConditionTrue, "MigrationRunning")), false},
	} {
		if got := isDone(tt.crd); got != tt.want {
			t.Errorf("%s: done: %t, want %t", name, got, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := check(crdWith("v1alpha2", nil)); err != nil {
		t.Error(err)
	}
	if err := check(crdWith("v1alpha1", nil)); err == nil || !strings.Contains(err.Error(), "apply the CRD of this release") {
		t.Errorf("with an older CRD: %v", err)
	}
	deleted := crdWith("v1alpha2", nil)
	deleted.DeletionTimestamp = &metav1.Time{}
	if err := check(deleted); err == nil {
		t.Error("a CRD that is being deleted is taken")
	}
}

func TestWithOlder(t *testing.T) {
	crd := crdWith("v1alpha2", []string{"v1alpha2"})
	if got := withOlder(crd); !slices.Equal(got, []string{"v1alpha2", "v1alpha1"}) {
		t.Errorf("versions = %v", got)
	}
	if got := crd.Status.StoredVersions; len(got) != 1 {
		t.Errorf("the CRD was changed: %v", got)
	}
}

// migrationWith returns a StorageVersionMigration on which these conditions are True.
func migrationWith(name, resource string, conditions ...storagemigrationv1.MigrationConditionType) storagemigrationv1.StorageVersionMigration {
	m := storagemigrationv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.Resource = metav1.GroupResource{Group: kind.Group, Resource: resource}
	for _, c := range conditions {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: string(c), Status: metav1.ConditionTrue, Message: string(c)})
	}
	return m
}

func TestUnderWay(t *testing.T) {
	const running, succeeded, failed = storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed
	for name, tt := range map[string]struct {
		migrations []storagemigrationv1.StorageVersionMigration
		want       string
	}{
		"none":                     {nil, ""},
		"of something else":        {[]storagemigrationv1.StorageVersionMigration{migrationWith("a", "others", running)}, ""},
		"ended":                    {[]storagemigrationv1.StorageVersionMigration{migrationWith("a", "nginxoperators", succeeded), migrationWith("b", "nginxoperators", failed)}, ""},
		"waiting":                  {[]storagemigrationv1.StorageVersionMigration{migrationWith("a", "nginxoperators")}, "a"},
		"about to end":             {[]storagemigrationv1.StorageVersionMigration{migrationWith("a", "nginxoperators", running, succeeded)}, "a"},
		"waiting behind a running": {[]storagemigrationv1.StorageVersionMigration{migrationWith("a", "nginxoperators"), migrationWith("b", "nginxoperators", running)}, "b"},
	} {
		got := ""
		if found := findActiveMigration(tt.migrations); found != nil {
			got = found.Name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFailureIsReported(t *testing.T) {
	m := migrationWith("a", "nginxoperators", storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed)
	if s := stateOf(&m); s.ended() || s.message != "Failed" {
		t.Errorf("state = %+v: it ends when Running is taken back", s)
	}
}

func TestNewerToken(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	if got := newerToken(expired); got != "" {
		t.Errorf("token = %q although none is offered", got)
	}
	expired.ErrStatus.Continue = "next"
	if got := newerToken(expired); got != "next" {
		t.Errorf("token = %q", got)
	}
}

func TestOptions(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	err := Options{Method: "by hand"}.Validate()
	for _, words := range []string{"--method", "--page-size", "--concurrency"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("the error does not name %s: %v", words, err)
		}
	}
}

// TestStorageVersionHash: the hash equals the one that a real API server reports.
func TestStorageVersionHash(t *testing.T) {
	if got := storageVersionHash("apps", "v1", "Deployment"); got != "8aSe+NMegvE=" {
		t.Errorf("hash = %q", got)
	}
}
