package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"example.com/nginx-operator/test/internal/figure"
)

// These match what the tests log about their cases.
var (
	operatorKills        = regexp.MustCompile(`the operator was killed (\d+) times\n`)
	programKills         = regexp.MustCompile(`the program was killed (\d+) times, and refused (\d+) times`)
	restoreOperatorKills = regexp.MustCompile(`the operator was killed (\d+) times while it restored, and refused (\d+) times`)
	restoreProgramKills  = regexp.MustCompile(`the program was killed (\d+) times while it restored, and refused (\d+) times`)
	extractionKills      = regexp.MustCompile(`a process that extracts was killed (\d+) times`)
)

// crashTests matches the names of the tests that kill processes.
const crashTests = "TestKilledAtEachWrite|TestAgentKilledAtEachCall|TestRestoreKilledAtEachWrite|TestRestoreAgentKilledAtEachCall|TestKilledWhileExtracting"

// measureBackupCrash runs the tests that kill processes, and counts their cases. They kill the
// operator at each write of a backup, of its deletion and of a restore, the jobs' programs at each
// call to their store, and the extraction at many places of an archive.
func measureBackupCrash(ctx context.Context, _ *session) ([]figure.Figure, error) {
	start := time.Now()
	out, failed, err := runTest(ctx, crashTests, "./test/api/backup", "./internal/backup/archive")
	if err != nil {
		return nil, err
	}
	var details []string
	if failed > 0 {
		details = []string{string(out)}
	}
	figures := []figure.Figure{
		figure.HasGoal("runs with something lost, incomplete, left over or unsettled", failed, "runs", figure.AtMost(0), details...),
		figure.Info("took", time.Since(start).Seconds(), "s"),
	}
	for _, c := range []struct {
		name    string
		pattern *regexp.Regexp
		group   int
	}{
		{"the operator killed at a write of a backup, or right after it", operatorKills, 1},
		{"the program killed at a call of the store, or right after it", programKills, 1},
		{"a call of the store refused", programKills, 2},
		{"the operator killed at a write of a restore, or right after it", restoreOperatorKills, 1},
		{"a write of a restore refused", restoreOperatorKills, 2},
		{"a restore's program killed at a call of the store, or right after it", restoreProgramKills, 1},
		{"a call of the store refused to a restore's program", restoreProgramKills, 2},
		{"the extraction killed by the kernel", extractionKills, 1},
	} {
		found := c.pattern.FindSubmatch(out)
		if found == nil && failed == 0 {
			return nil, fmt.Errorf("the tests do not report their cases (%s): %s", c.name, out)
		}
		if found == nil {
			continue
		}
		n, err := strconv.Atoi(string(found[c.group]))
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure.HasGoal(c.name, float64(n), "cases", figure.AtLeast(1)))
	}
	return figures, nil
}
