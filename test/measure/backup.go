package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/testenv"
)

// journeys are the end-to-end tests of backups and restores whose steps are measured.
var journeys = []struct{ test, store string }{
	{"TestBackupAndRestoreOnS3", "S3"},
	{"TestBackupAndRestoreOnClaim", "claim"},
	{"TestScheduledBackup", "schedule"},
	{"TestRolloutWaitsForBackup", "before a rollout"},
}

// measured matches what they log: a step, a number, and optionally its unit.
var measured = regexp.MustCompile(`measured: (.+): ([0-9.]+)( s)?\n`)

// measureBackup takes backups and restores them on the cluster, as a user would. It reports the
// time of each step until its outcome was verified, and the number of responses that were compared.
func measureBackup(ctx context.Context, s *session) ([]figure.Figure, error) {
	var figures []figure.Figure
	for _, journey := range journeys {
		s.progress("backup: %s", journey.test)
		out, failed, err := runTest(ctx, journey.test, "-tags=e2e", "./test/e2e")
		if err != nil {
			return figures, err
		}
		var details []string
		if failed > 0 {
			details = []string{string(out)}
		}
		figures = append(figures, figure.HasGoal(journey.store+": journeys that failed", failed, "journeys", figure.AtMost(0), details...))
		steps := measured.FindAllSubmatch(out, -1)
		if len(steps) == 0 && failed == 0 {
			return figures, fmt.Errorf("%s reports no step: %s", journey.test, out)
		}
		for _, found := range steps {
			value, err := strconv.ParseFloat(string(found[2]), 64)
			if err != nil {
				return figures, err
			}
			unit := "s"
			if len(found[3]) == 0 {
				unit = "answers"
			}
			figures = append(figures, figure.Info(journey.store+": "+string(found[1]), value, unit))
		}
	}
	return figures, nil
}

// runTest runs tests of the project. It returns their output, and 1 if a test failed.
func runTest(ctx context.Context, name string, arguments ...string) (out []byte, failed float64, err error) {
	arguments = append([]string{"test", "-count=1", "-v", "-timeout=20m", fmt.Sprintf("-run=^(%s)$", name)}, arguments...)
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env = testenv.Root(), os.Environ()
	out, err = command.CombinedOutput()
	if _, failing := errors.AsType[*exec.ExitError](err); failing {
		return out, 1, nil
	}
	return out, 0, err
}
