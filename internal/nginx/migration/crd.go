package migration

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reasons of the CRD's condition StorageMigrating. Kubernetes has no constants for them.
const (
	reasonFailed    = "MigrationFailed"
	reasonSucceeded = "MigrationSucceeded"
)

// noticeTimeout bounds how long an API server may take to notice a change of a CRD, and noticePoll
// is the interval at which that is checked.
const (
	noticeTimeout = time.Minute
	noticePoll    = 200 * time.Millisecond
)

// readCRD reads the CRD. It returns an error if the CRD's storage version is not the newest version
// that this program knows.
func (m *Migrator) readCRD(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := m.client.Get(ctx, client.ObjectKey{Name: resource.String()}, crd); err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	return crd, check(crd)
}

// check returns an error if nothing can be migrated with this CRD.
func check(crd *apiextensionsv1.CustomResourceDefinition) error {
	if crd.DeletionTimestamp != nil {
		return fmt.Errorf("the CRD %s is being deleted", crd.Name)
	}
	if version := storageVersion(crd); version != kind.Version {
		return fmt.Errorf("the CRD %s stores %q: apply the CRD of this release, which stores %s, and run this again", crd.Name, version, kind.Version)
	}
	return nil
}

func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// isDone reports whether the CRD reliably states that no object is stored in an older version.
// storedVersions alone does not: Kubernetes 1.37 removes the older versions from it even after a
// StorageVersionMigration has failed (finishCRDMigration in
// pkg/controller/storageversionmigrator/migrationrunner.go).
func isDone(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.Equal(crd.Status.StoredVersions, []string{kind.Version}) && !hasFailed(crd)
}

func hasFailed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := condition(crd)
	return c != nil && c.Status == apiextensionsv1.ConditionFalse && c.Reason == reasonFailed
}

func condition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == apiextensionsv1.StorageMigrating {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

// withOlder returns the stored versions and every other version of the CRD: all that may be stored
// if nothing is known about it.
func withOlder(crd *apiextensionsv1.CustomResourceDefinition) []string {
	all := slices.Clone(crd.Status.StoredVersions)
	for _, v := range crd.Spec.Versions {
		if !slices.Contains(all, v.Name) {
			all = append(all, v.Name)
		}
	}
	return all
}

// protect restores the older versions that a failed migration has removed from storedVersions. As
// long as a version is listed there, the API server does not let anyone remove it from the CRD.
func (m *Migrator) protect(ctx context.Context) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := m.readCRD(ctx)
		if err != nil || !hasFailed(crd) {
			return err
		}
		all := withOlder(crd)
		if slices.Equal(all, crd.Status.StoredVersions) {
			return nil
		}
		m.printf("A StorageVersionMigration has failed, so objects may be stored in any version: setting status.storedVersions to %v.", all)
		crd.Status.StoredVersions = all
		return m.client.Status().Update(ctx, crd)
	})
	if err != nil {
		return fmt.Errorf("record the versions that objects may be stored in: %w", err)
	}
	return nil
}

// errChanged means that the CRD has changed since the objects were written.
var errChanged = errors.New("the CRD changed in the meantime")

// finish removes the older versions from storedVersions if the CRD still has the generation that
// every object was written under. The resourceVersion ensures that this is still so at the moment
// of the write.
func (m *Migrator) finish(ctx context.Context, generation int64) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := m.readCRD(ctx)
		if err != nil {
			return err
		}
		if crd.Generation != generation {
			return errChanged
		}
		if isDone(crd) {
			return nil
		}
		crd.Status.StoredVersions = []string{kind.Version}
		if hasFailed(crd) {
			c := condition(crd)
			c.Reason, c.Message = reasonSucceeded, "nginx-operator migrate-storage has written every object again"
			c.LastTransitionTime, c.ObservedGeneration = metav1.Now(), crd.Generation
		}
		return m.client.Status().Update(ctx, crd)
	})
	if err != nil && !errors.Is(err, errChanged) {
		return fmt.Errorf("write the CRD's status.storedVersions: %w", err)
	}
	return err
}

// waitForAPIServer waits until the API server stores the CRD's storage version. It notices a
// changed CRD with a delay, and until then writes objects in the old version. Its discovery
// contains a hash of the version that it stores.
func (m *Migrator) waitForAPIServer(ctx context.Context) error {
	want := storageVersionHash(kind.Group, kind.Version, kind.Kind)
	var last error
	err := wait.PollUntilContextTimeout(ctx, noticePoll, noticeTimeout, true, func(context.Context) (bool, error) {
		list, err := m.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		switch {
		case apierrors.IsNotFound(err):
			last = fmt.Errorf("it does not serve %s yet", kind.GroupVersion())
		case err != nil:
			last = err
		case !stores(list, want):
			last = errors.New("it still stores another version")
		default:
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("the API server has not adopted the CRD: %w", errors.Join(last, err))
	}
	return nil
}

func stores(list *metav1.APIResourceList, hash string) bool {
	for _, r := range list.APIResources {
		if r.Name == resource.Resource {
			return r.StorageVersionHash == hash
		}
	}
	return false
}

// storageVersionHash returns the hash that the API server computes for its discovery
// (StorageVersionHash in k8s.io/apiserver/pkg/endpoints/discovery).
func storageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
