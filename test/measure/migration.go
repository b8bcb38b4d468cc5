package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/testenv"
)

const (
	migrationObjects = 1000
	// migrationKills is how often each migration is killed.
	migrationKills = 4
	// conversionRounds is the number of random objects for the conversion round trips.
	conversionRounds = 100000
)

// measureMigration stores objects as v1alpha1 with a CRD that has it as storage version, applies
// the current CRD, and migrates the objects: once with the command alone, and once with Kubernetes'
// own controller. Both are killed repeatedly on the way.
func measureMigration(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := newMigrationBench(ctx, s)
	if err != nil {
		return nil, err
	}
	figures, err := b.migrate(ctx, "rewrite", b.rewrite)
	if err != nil {
		return figures, err
	}
	inTree, err := b.migrate(ctx, "in-tree", b.inTree)
	figures = append(figures, inTree...)
	if err != nil {
		return figures, err
	}
	converted, err := b.convert(ctx)
	return append(figures, converted...), err
}

// migrate measures one complete migration. run migrates the objects, kills the migration on the
// way, and returns how often it did.
func (b *migrationBench) migrate(ctx context.Context, name string, run func(context.Context) (int, error)) ([]figure.Figure, error) {
	namespace := "measure-" + name
	b.progress("migration: storing %d objects as v1alpha1", b.n)
	if err := b.fill(ctx, namespace); err != nil {
		return nil, err
	}
	before, err := b.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	stored, err := b.storedAs(ctx, v1alpha1.GroupVersion.Version)
	if err != nil {
		return nil, err
	}
	if err := b.plane.StoreAs(ctx, v1alpha2.GroupVersion.Version); err != nil {
		return nil, err
	}
	b.progress("migration: %s", name)
	start := time.Now()
	kills, err := run(ctx)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	return b.verdict(ctx, name, namespace, before, stored, kills, took)
}

func (b *migrationBench) verdict(ctx context.Context, name, namespace string, before map[string]v1alpha2.NginxOperator, stored, kills int, took time.Duration) ([]figure.Figure, error) {
	after, err := b.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	left, err := b.storedAs(ctx, v1alpha1.GroupVersion.Version)
	if err != nil {
		return nil, err
	}
	crd, err := b.plane.LiveCRD(ctx)
	if err != nil {
		return nil, err
	}
	gone := lost(before, after)
	return []figure.Figure{
		figure.HasGoal(name+": stored as v1alpha1 before", float64(stored), "objects", figure.AtLeast(float64(b.n))),
		figure.HasGoal(name+": killed and run again", float64(kills), "times", figure.AtLeast(1)),
		figure.HasGoal(name+": stored as v1alpha1 afterwards", float64(left), "objects", figure.AtMost(0)),
		figure.HasGoal(name+": lost or changed", float64(len(gone)), "objects", figure.AtMost(0), gone[:min(len(gone), 10)]...),
		figure.HasGoal(name+": versions in storedVersions", float64(len(crd.Status.StoredVersions)), "versions", figure.AtMost(1), crd.Status.StoredVersions...),
		figure.Info(name+": took, kills included", took.Seconds(), "s"),
	}, nil
}

// rewrite lets the command rewrite the objects, and kills it after every fifth of them.
func (b *migrationBench) rewrite(ctx context.Context) (int, error) {
	for kills := range migrationKills {
		left := b.n * (migrationKills - kills) / (migrationKills + 1)
		ended, err := b.runUntil(ctx, left, "--method=rewrite")
		if err != nil || ended {
			return kills, errors.Join(err, fmt.Errorf("it ended before it could be killed at %d remaining objects", left))
		}
	}
	_, err := b.runUntil(ctx, -1, "--method=rewrite")
	return migrationKills, err
}

// inTree lets Kubernetes rewrite the objects. It kills the controller and the command half-way, and
// starts both again.
func (b *migrationBench) inTree(ctx context.Context) (int, error) {
	kills := 0
	for _, left := range []int{b.n / 2, -1} {
		manager, err := b.plane.StartControllerManager(b.dir, "garbage-collector-controller", "storage-version-migrator-controller")
		if err != nil {
			return kills, err
		}
		ended, err := b.runUntil(ctx, left, "--method=in-tree")
		if err := errors.Join(err, manager.Stop()); err != nil {
			return kills, err
		}
		if !ended {
			kills++
		}
	}
	return kills, nil
}

// convert runs the round-trip tests of internal/nginx/conversion with many rounds.
func (b *migrationBench) convert(ctx context.Context) ([]figure.Figure, error) {
	b.progress("migration: converting %d random objects back and forth, in both directions", conversionRounds)
	start := time.Now()
	command := exec.CommandContext(ctx, "go", "test", "-count=1", "-run=RoundTrip", "./internal/nginx/conversion")
	command.Dir = testenv.Root()
	command.Env = append(os.Environ(), fmt.Sprintf("CONVERSION_ROUNDS=%d", conversionRounds))
	out, err := command.CombinedOutput()
	failed := 0
	if _, failing := errors.AsType[*exec.ExitError](err); failing {
		failed, err = 1, nil
	}
	if err != nil {
		return nil, err
	}
	return []figure.Figure{
		figure.Info("random objects converted back and forth, in each direction", conversionRounds, "objects"),
		figure.HasGoal("round trips that lost something", float64(failed), "failures", figure.AtMost(0), string(out)),
		figure.Info("took", time.Since(start).Seconds(), "s"),
	}, nil
}
