package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/test/fault/internal/suite"
)

// print prints the results of a suite, and returns an error if a case failed.
func (o *options) print(out io.Writer, report *suite.Report, took time.Duration) error {
	text, failed := o.describe(report, took)
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	return o.verdict(report, failed)
}

// describe returns the results of a suite as text, and the names of what failed.
func (o *options) describe(report *suite.Report, took time.Duration) (results string, failed []string) {
	var text strings.Builder
	text.WriteString("| cases | possible | run | not reached | failed |\n|---|---|---|---|---|\n")
	for _, t := range report.Tallies {
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d |\n", t.Kind, t.Possible, t.Ran, t.Missed, t.Failed)
	}
	fmt.Fprintf(&text, "\nseed %d, %s, %d not run because the time was up\n", o.seed, took.Round(time.Second), report.Left)
	if tried, changed, of := report.Coverage(); of > 0 {
		fmt.Fprintf(&text, "%d of %d fields of the schema were selected for a change, and %d were changed\n", tried, of, changed)
	}
	if v := report.Quiescence; v != nil {
		fmt.Fprintf(&text, "quiescence check of the ends of %d cases for %s: %d writes %v\n", v.Ends, v.Silence, len(v.Writes), v.Writes)
		if len(v.Writes) > 0 {
			fmt.Fprintf(&text, "\nFAILED the quiescence check\nreplay: make fault %s\n", o.again(""))
			failed = append(failed, "the quiescence check")
		}
	}
	for _, f := range report.Failures {
		fmt.Fprintf(&text, "\nFAILED %s\n%v\nreplay: make fault %s\n", f.Case, f.Err, o.again(f.Case))
		failed = append(failed, f.Case)
	}
	return text.String(), failed
}

// verdict returns an error if something failed or was not run.
func (o *options) verdict(report *suite.Report, failed []string) error {
	ran := slices.ContainsFunc(report.Tallies, func(t *suite.Tally) bool { return t.Ran > 0 })
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%d cases failed: %s", len(failed), strings.Join(failed, ", "))
	case o.each > 0 && len(o.only) == 0 && o.replay == "" && o.images != "" && len(missing(report)) > 0:
		return fmt.Errorf("no case of these kinds was run: %s", strings.Join(missing(report), ", "))
	case !ran:
		return errors.New("no case was run: no name matches, none was selected, or the time was up")
	}
	return nil
}

// missing returns the kinds of which no case was run.
func missing(report *suite.Report) []string {
	return slices.DeleteFunc(suite.Kinds(), func(kind string) bool {
		return slices.ContainsFunc(report.Tallies, func(t *suite.Tally) bool { return t.Kind == kind && t.Ran > 0 })
	})
}
