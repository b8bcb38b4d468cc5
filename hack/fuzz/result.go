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

// result is what became of a target.
type result struct {
	executions, interesting int64
	// failure is what the go command said; empty: nothing was found. replay tries its input again.
	failure, replay string
}

// String is the last column of a row.
func (r result) String() string {
	if r.failure == "" {
		return "ok"
	}
	return "FAILED, again by: " + r.replay + "\n" + r.failure
}

var (
	progress = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)
	written  = regexp.MustCompile(`testdata/fuzz/\w+/([0-9a-f]+)`)
	// expired is what the go command says, now and then, when the time is up before all workers have
	// ended. It says so of a target's own deadlines as well, but then it has an input to show
	// (go.dev/issue/75804; mended in Go 1.27).
	expired = regexp.MustCompile(`^(fuzz: [^\n]*\n)*--- FAIL: \w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n`)
)

// minimizing is how long the input of a failure may be made smaller.
const minimizing = 5 * time.Second

// fuzz runs a target. An error is that it cannot be run.
func (t target) fuzz(ctx context.Context, each time.Duration) (result, error) {
	c := command(ctx, "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each.String(), "-fuzzminimizetime="+minimizing.String(), t.folder())
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

// read reads what the go command said.
func (t target) read(text string, failed bool) result {
	var r result
	if all := progress.FindAllStringSubmatch(text, -1); len(all) > 0 {
		// Both are digits; what does not fit into a number has not been counted either.
		r.executions, _ = strconv.ParseInt(all[len(all)-1][1], 10, 64)
		r.interesting, _ = strconv.ParseInt(all[len(all)-1][2], 10, 64)
	}
	if !failed || expired.MatchString(text) {
		return r
	}
	r.failure, r.replay = text, fmt.Sprintf("go test %s -run='^%s$'", t.folder(), t.name)
	if input := written.FindStringSubmatch(text); input != nil {
		r.replay = fmt.Sprintf("go test %s -run='^%s$/^%s$'", t.folder(), t.name, input[1])
	}
	return r
}
