package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/standin"
)

// backups is the argument of journeys that need the backup controllers.
const backups = "--controllers=backup"

// drawn are the backups that policies make: their names follow from UIDs.
var drawn = regexp.MustCompile(`^NginxBackup/(web-)[0-9a-f]{10}$`)

// lookPause is how often it is looked for jobs.
const lookPause = 100 * time.Millisecond

// withJobs does something while the jobs of backups run in the namespaces of a stage's journeys that need it. If they
// can't go on, the context of what is done ends: every journey with a backup would fail.
func (h *house) withJobs(ctx context.Context, stage *campaign.Stage, do func(context.Context) error) error {
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

// nodesOf are those that run the jobs of a stage's journeys.
func (h *house) nodesOf(stage *campaign.Stage) *standin.Cluster {
	nodes := standin.New(h.plane.Client, lookPause)
	nodes.BesideOperator()
	stage.Draw(drawn)
	stage.Begin = func(j *journey.Journey, namespace string) error {
		if !slices.Contains(j.Arguments, backups) {
			return nil
		}
		root, err := filepath.Abs(filepath.Join(h.dir, namespace))
		if err != nil {
			return err
		}
		place := &standin.Place{Claim: filepath.Join(root, "claim"), Content: filepath.Join(root, "content")}
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
