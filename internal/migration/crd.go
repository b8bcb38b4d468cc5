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

// noticeTimeout is how long an API server may take to notice a change of a CRD, and
// noticePoll how often it is asked.
const (
	noticeTimeout = time.Minute
	noticePoll    = 200 * time.Millisecond
)

// readCRD reads the CRD and refuses one that stores another version than this program
// knows as the newest.
func (m *Migrator) readCRD(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := m.client.Get(ctx, client.ObjectKey{Name: resource.String()}, crd); err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	return crd, check(crd)
}

// check tells why nothing can be migrated with this CRD.
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

// isDone tells whether the CRD says, and can be trusted to say, that nothing is stored in
// an older version. Kubernetes 1.37 takes the older versions out of storedVersions after
// a StorageVersionMigration that has failed, too
// (finishCRDMigration in pkg/controller/storageversionmigrator/migrationrunner.go).
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

// withOlder are the stored versions as they are, with every other version that the CRD
// knows: what may be stored when nobody knows it.
func withOlder(crd *apiextensionsv1.CustomResourceDefinition) []string {
	all := slices.Clone(crd.Status.StoredVersions)
	for _, v := range crd.Spec.Versions {
		if !slices.Contains(all, v.Name) {
			all = append(all, v.Name)
		}
	}
	return all
}

// protect puts the older versions back where a failed migration has taken them out of
// storedVersions: as long as they stand there, the API server lets nobody remove a
// version from the CRD that objects are stored in.
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
		m.say("A StorageVersionMigration has failed, so objects may be stored in any version: status.storedVersions becomes %v.", all)
		crd.Status.StoredVersions = all
		return m.client.Status().Update(ctx, crd)
	})
	if err != nil {
		return fmt.Errorf("protect the versions that objects may be stored in: %w", err)
	}
	return nil
}

// errChanged tells that the CRD is not the one that every object was written under.
var errChanged = errors.New("the CRD was changed meanwhile")

// finish takes the older versions out of storedVersions, if the CRD is still of the
// generation that every object was written under. The resourceVersion makes sure that it
// is at the moment of the write as well.
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

// waitForAPIServer waits until the API server stores what the CRD says: it notices a
// changed CRD a moment later, and until then it would write objects in the old version.
// Its discovery tells, by a hash of the version that it stores.
func (m *Migrator) waitForAPIServer(ctx context.Context) error {
	want := storageVersionHash(kind.Group, kind.Version, kind.Kind)
	var last error
	err := wait.PollUntilContextTimeout(ctx, noticePoll, noticeTimeout, true, func(context.Context) (bool, error) {
		list, err := m.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		switch {
		case apierrors.IsNotFound(err):
			last = fmt.Errorf("it does not serve %s", kind.GroupVersion())
		case err != nil:
			last = err
		case !stores(list, want):
			last = errors.New("it stores another version")
		default:
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not follow the CRD: %w", errors.Join(last, err))
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

// storageVersionHash is what the API server computes for its discovery (StorageVersionHash
// in k8s.io/apiserver/pkg/endpoints/discovery).
func storageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
