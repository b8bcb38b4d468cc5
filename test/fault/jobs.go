package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/standin"
	"example.com/nginx-operator/test/testenv"
)

// backups is the argument of journeys that need the backup controllers.
const backups = "--controllers=backup"

// drawn are the backups that policies make: their names follow from UIDs.
var drawn = regexp.MustCompile(`^NginxBackup/(web-)[0-9a-f]{10}$`)

// lookPause is how often it is looked for jobs.
const lookPause = 100 * time.Millisecond

// runJobs has the jobs of backups run in the namespaces of journeys that need it, until the context
// ends. The function that it returns waits for that. If it can't go on, it calls fail: every journey with a backup would.
func runJobs(ctx context.Context, plane *testenv.ControlPlane, stage *campaign.Stage, dir string, fail context.CancelCauseFunc) func() error {
	nodes := standin.New(plane.Client, lookPause)
	nodes.BesideOperator()
	stage.Draw(drawn)
	stage.Begin = func(j *journey.Journey, namespace string) error {
		if !slices.Contains(j.Arguments, backups) {
			return nil
		}
		root, err := filepath.Abs(filepath.Join(dir, namespace))
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
	ended := make(chan error, 1)
	go func() {
		err := nodes.Run(ctx)
		if err != nil {
			fail(err)
		}
		ended <- err
	}()
	return func() error { return <-ended }
}
