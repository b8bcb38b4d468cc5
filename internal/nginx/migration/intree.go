package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// migrationPrefix is the prefix of the names of this program's StorageVersionMigrations.
	migrationPrefix = "nginx-operator-"
	// maxMigrations bounds how many are created: each time the CRD changes while one runs, another
	// one is needed.
	maxMigrations = 3
	inTreePoll    = 500 * time.Millisecond
)

// servesMigrations reports whether the API for migrations is served. It does not know whether a
// controller handles them.
func (m *Migrator) servesMigrations() (bool, error) {
	_, err := m.client.RESTMapper().RESTMapping(migrationKind.GroupKind(), migrationKind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover %s: %w", migrationKind.GroupVersion(), err)
	}
	return true, nil
}

var migrationKind = storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration")

// inTree lets Kubernetes rewrite every object. Its controller also updates storedVersions, unless
// the CRD changes while it works.
func (m *Migrator) inTree(ctx context.Context) error {
	for range maxMigrations {
		migration, err := m.startInTree(ctx)
		if err != nil {
			return err
		}
		if err := m.waitInTree(ctx, migration); err != nil {
			// The older versions may have been removed from storedVersions anyway, see isDone.
			return errors.Join(err, m.protect(context.WithoutCancel(ctx)))
		}
		crd, err := m.readCRD(ctx)
		if err != nil {
			return err
		}
		if isDone(crd) {
			m.printf("Done: StorageVersionMigration %s has succeeded, and status.storedVersions is [%s].", migration.Name, kind.Version)
			return nil
		}
		m.printf("StorageVersionMigration %s has succeeded, but the CRD changed in the meantime: starting another.", migration.Name)
	}
	return fmt.Errorf("after %d StorageVersionMigrations, status.storedVersions still has an older version: check which client keeps changing the CRD", maxMigrations)
}

// startInTree continues with a migration that is under way, for example from an earlier run, or
// creates one.
func (m *Migrator) startInTree(ctx context.Context) (*storagemigrationv1.StorageVersionMigration, error) {
	list := &storagemigrationv1.StorageVersionMigrationList{}
	if err := m.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list StorageVersionMigrations: %w", err)
	}
	if found := findActiveMigration(list.Items); found != nil {
		m.printf("StorageVersionMigration %s is already in progress.", found.Name)
		return found, nil
	}
	migration := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: migrationPrefix},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: groupResource},
	}
	if err := m.client.Create(ctx, migration); err != nil {
		return nil, fmt.Errorf("create a StorageVersionMigration: %w", err)
	}
	m.printf("Created StorageVersionMigration %s.", migration.Name)
	return migration, nil
}

// findActiveMigration returns a migration of NginxOperators that has not ended, or nil if there is none. It
// prefers the one that is running; there is at most one.
func findActiveMigration(migrations []storagemigrationv1.StorageVersionMigration) *storagemigrationv1.StorageVersionMigration {
	var found *storagemigrationv1.StorageVersionMigration
	for i := range migrations {
		s := stateOf(&migrations[i])
		if migrations[i].Spec.Resource != groupResource || s.ended() {
			continue
		}
		if found == nil || s.running {
			found = &migrations[i]
		}
	}
	return found
}

var groupResource = metav1.GroupResource{Group: resource.Group, Resource: resource.Resource}

// state is the state of a StorageVersionMigration.
type state struct {
	running, succeeded, failed bool
	message                    string
}

// ended reports whether the migration has ended. Kubernetes resets Running after it has written
// storedVersions.
func (s state) ended() bool { return (s.succeeded || s.failed) && !s.running }

func stateOf(migration *storagemigrationv1.StorageVersionMigration) state {
	var s state
	s.running, s.message = isTrue(migration, storagemigrationv1.MigrationRunning)
	s.succeeded, _ = isTrue(migration, storagemigrationv1.MigrationSucceeded)
	failed, why := isTrue(migration, storagemigrationv1.MigrationFailed)
	if failed {
		s.failed, s.message = true, why
	}
	return s
}

func isTrue(migration *storagemigrationv1.StorageVersionMigration, name storagemigrationv1.MigrationConditionType) (bool, string) {
	c := meta.FindStatusCondition(migration.Status.Conditions, string(name))
	if c == nil || c.Status != metav1.ConditionTrue {
		return false, ""
	}
	return true, c.Message
}

// waitInTree waits until Kubernetes has ended a migration, and prints its progress. If no
// controller starts a migration that this program has created, it is deleted.
func (m *Migrator) waitInTree(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration) error {
	start, said := time.Now(), ""
	return wait.PollUntilContextCancel(ctx, inTreePoll, true, func(ctx context.Context) (bool, error) {
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(migration), migration); err != nil {
			return false, fmt.Errorf("read StorageVersionMigration %s: %w", migration.Name, err)
		}
		s := stateOf(migration)
		if s.message != "" && s.message != said {
			said = s.message
			m.printf("  %s", said)
		}
		switch {
		case s.ended() && s.failed:
			return false, fmt.Errorf("StorageVersionMigration %s has failed: %s", migration.Name, s.message)
		case s.ended():
			return true, nil
		case len(migration.Status.Conditions) == 0 && time.Since(start) > m.StartTimeout:
			err := fmt.Errorf("StorageVersionMigration %s did not start within %s: kube-controller-manager may not run its controller", migration.Name, m.StartTimeout)
			if strings.HasPrefix(migration.Name, migrationPrefix) {
				err = errors.Join(err, client.IgnoreNotFound(m.client.Delete(ctx, migration)))
			}
			return false, err
		}
		return false, nil
	})
}
