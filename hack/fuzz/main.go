// Command fuzz runs every native fuzz target of a module, each for a bounded time, and prints a
// row for each: how many inputs were tried, how many of them reached code that none had reached
// before, and what came of it. Of a failure it prints the command that tries its input again.
//
// Targets are found in the sources, so that a new one is run without being listed anywhere.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	each := flags.Duration("time", 3*time.Second, "for how long each target is run")
	only := flags.String("run", "", "run the targets whose package.Name matches this regular expression")
	budget := flags.Duration("budget", 0, "after which time no further target is begun, of which the first are drawn by lot then; 0: all are run")
	keep := flags.Int("keep", 0, "keep so many of the smallest new inputs of each target in testdata/fuzz")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	targets, err := find(ctx, wanted)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("there is no target whose package.Name matches %q", *only)
	}
	until := time.Time{}
	if *budget > 0 {
		until = time.Now().Add(*budget)
		rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	}
	return fuzz(ctx, table{out}, targets, *each, until, *keep)
}

// fuzz runs the targets one after the other: each has all processors. None is begun after until,
// unless that is zero: where nothing was built before, that takes far longer than to run them.
func fuzz(ctx context.Context, t table, targets []target, each time.Duration, until time.Time, keep int) error {
	if err := t.row("target", "executions", "new", "result"); err != nil {
		return err
	}
	var total result
	failed := 0
	for i, target := range targets {
		if !until.IsZero() && time.Now().After(until) {
			if err := t.row(fmt.Sprintf("%d others", len(targets)-i), "", "", "not run for want of time"); err != nil {
				return err
			}
			targets = targets[:i]
			break
		}
		r, err := target.fuzz(ctx, each)
		if err != nil {
			return err
		}
		if err := t.row(target, r.executions, r.interesting, r); err != nil {
			return err
		}
		total.executions += r.executions
		total.interesting += r.interesting
		if r.failure != "" {
			failed++
		}
		if err := target.keep(ctx, keep); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(targets))
	}
	return t.row(fmt.Sprintf("%d targets", len(targets)), total.executions, total.interesting, "ok")
}

// table prints rows under each other.
type table struct{ out io.Writer }

func (t table) row(target, executions, interesting, result any) error {
	_, err := fmt.Fprintf(t.out, "%-45v %12v %6v  %v\n", target, executions, interesting, result)
	return err
}
