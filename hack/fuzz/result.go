package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// result is the result of a target.
type result struct {
	executions, interesting int64
	// failure is the output of the go command; empty: no failure. replay is the command that
	// repeats it.
	failure, replay string
}

// String returns the last column of a row.
func (r result) String() string {
	if r.failure == "" {
		return "ok"
	}
	return "FAILED, again by: " + r.replay + "\n" + r.failure
}

var (
	progress = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)
	written  = regexp.MustCompile(`testdata/fuzz/\w+/([0-9a-f]+)`)
	// expired matches what the go command sometimes prints if the time is up before all workers
	// have ended. It prints the same for a target's own deadlines, but then together with an input
	// (go.dev/issue/75804; fixed in Go 1.27).
	expired = regexp.MustCompile(`^(fuzz: [^\n]*\n)*--- FAIL: \w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n`)
)

// minimizeTime bounds the time for minimizing the input of a failure.
const minimizeTime = 5 * time.Second

// fuzz runs a target. It returns an error if the target cannot be run.
func (t target) fuzz(ctx context.Context, each time.Duration) (result, error) {
	c := goCommand(ctx, "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each.String(), "-fuzzminimizetime="+minimizeTime.String(), t.relativePackage())
	c.Stderr = nil
	text, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return result{}, err
	}
	return t.read(string(text), err != nil), nil
}

// read parses the output of the go command.
func (t target) read(text string, failed bool) result {
	var r result
	if all := progress.FindAllStringSubmatch(text, -1); len(all) > 0 {
		// Both contain only digits. A value that is too large for a number cannot have been counted
		// either.
		r.executions, _ = strconv.ParseInt(all[len(all)-1][1], 10, 64)
		r.interesting, _ = strconv.ParseInt(all[len(all)-1][2], 10, 64)
	}
	if !failed || expired.MatchString(text) {
		return r
	}
	r.failure, r.replay = text, fmt.Sprintf("go test %s -run='^%s$'", t.relativePackage(), t.name)
	if input := written.FindStringSubmatch(text); input != nil {
		r.replay = fmt.Sprintf("go test %s -run='^%s$/^%s$'", t.relativePackage(), t.name, input[1])
	}
	return r
}
