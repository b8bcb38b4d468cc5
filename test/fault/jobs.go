package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/standin"
)

// backupControllersArg is the operator's argument in journeys that need the backup controllers.
const backupControllersArg = "--controllers=backup"

// drawn matches the backups that policies create, and the revisions of caches. The names of the former are derived from
// UIDs, and those of the latter from configurations with the names of Services, which contain that of the namespace.
var drawn = regexp.MustCompile(`^NginxBackup/(web-)[0-9a-f]{10}$|^ControllerRevision/(front-(?:edge|shards)-)[0-9a-f]{10}$`)

// pollInterval is the time between two polls for jobs.
const pollInterval = 100 * time.Millisecond

// withJobs runs a function while the backup jobs run in the namespaces of the stage's journeys that
// need them. If the jobs fail, it cancels the function's context, because every journey with a
// backup would fail.
func (h *environment) withJobs(ctx context.Context, stage *suite.Stage, do func(context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	nodes := h.nodesOf(stage)
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := nodes.Run(working)
		if err != nil {
			fail(err)
		}
		ended <- err
	}()
	err := do(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// nodesOf returns the nodes that run the jobs of a stage's journeys.
func (h *environment) nodesOf(stage *suite.Stage) *standin.Cluster {
	nodes := standin.New(h.plane.Client, pollInterval)
	nodes.BesideOperator()
	stage.Draw(drawn)
	stage.Begin = func(j *journey.Journey, namespace string) error {
		if !slices.Contains(j.Arguments, backupControllersArg) {
			return nil
		}
		root, err := filepath.Abs(filepath.Join(h.dir, namespace))
		if err != nil {
			return err
		}
		place := &standin.NodeStorage{Claim: filepath.Join(root, "claim"), Content: filepath.Join(root, "content")}
		for _, folder := range []string{place.Claim, place.Content} {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return err
			}
		}
		nodes.Add(namespace, place)
		return nil
	}
	return nodes
}
