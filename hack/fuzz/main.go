// Command fuzz runs every native fuzz target of a module, each for a bounded time. For each target
// it prints how many inputs were tried, how many of them reached new code, and the result. For a
// failure it prints the command that repeats it.
//
// It finds the targets in the sources, so that a new one needs no list.
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
	each := flags.Duration("time", 3*time.Second, "how long to run each target")
	only := flags.String("run", "", "run the targets whose package.Name matches this regular expression")
	budget := flags.Duration("budget", 0, "start no target after this time, and run the targets in random order; 0: run all")
	keep := flags.Int("keep", 0, "number of the smallest new inputs of each target to keep in testdata/fuzz")
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

// fuzz runs the targets one after the other, since each uses all processors. It starts none after
// until, unless that is zero: without a build cache, compiling takes far longer than fuzzing.
func fuzz(ctx context.Context, t table, targets []target, each time.Duration, until time.Time, keep int) error {
	if err := t.row("target", "executions", "new", "result"); err != nil {
		return err
	}
	var total result
	failed := 0
	for i, target := range targets {
		if !until.IsZero() && time.Now().After(until) {
			if err := t.row(fmt.Sprintf("%d others", len(targets)-i), "", "", "not run: the time is up"); err != nil {
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

// table prints rows with aligned columns.
type table struct{ out io.Writer }

func (t table) row(target, executions, interesting, result any) error {
	_, err := fmt.Fprintf(t.out, "%-45v %12v %6v  %v\n", target, executions, interesting, result)
	return err
}
