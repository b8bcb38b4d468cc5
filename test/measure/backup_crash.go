package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"example.com/nginx-operator/test/measure/internal/figure"
)

// What the tests of test/api/backup log about their cases.
var (
	operatorKills = regexp.MustCompile(`the operator was killed (\d+) times`)
	programKills  = regexp.MustCompile(`the program was killed (\d+) times, and refused (\d+) times`)
)

// measureBackupCrash runs the tests that kill the operator at each write of a backup and of
// its deletion, and the job's program at each call of its store, and counts their cases.
func measureBackupCrash(ctx context.Context, _ *session) ([]figure.Figure, error) {
	start := time.Now()
	out, failed, err := runTest(ctx, "TestKilledAtEachWrite|TestAgentKilledAtEachCall", "./test/api/backup")
	if err != nil {
		return nil, err
	}
	var details []string
	if failed > 0 {
		details = []string{string(out)}
	}
	operator, program := operatorKills.FindSubmatch(out), programKills.FindSubmatch(out)
	if failed == 0 && (operator == nil || program == nil) {
		return nil, fmt.Errorf("the tests do not tell of their cases: %s", out)
	}
	figures := []figure.Figure{
		figure.Judged("runs in which something was lost, half, left over or not settled", failed, "runs", figure.AtMost(0), details...),
		figure.Info("took", time.Since(start).Seconds(), "s"),
	}
	for _, c := range []struct {
		name  string
		found [][]byte
		group int
	}{
		{"the operator killed at a write, or right after it", operator, 1},
		{"the program killed at a call of the store, or right after it", program, 1},
		{"a call of the store refused", program, 2},
	} {
		if c.found == nil {
			continue
		}
		n, err := strconv.Atoi(string(c.found[c.group]))
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure.Judged(c.name, float64(n), "cases", figure.AtLeast(1)))
	}
	return figures, nil
}
