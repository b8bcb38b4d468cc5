package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/test/fault/internal/campaign"
)

// print prints what became of a campaign, and fails if a case did.
func (o *options) print(out io.Writer, report *campaign.Report, took time.Duration) error {
	var text strings.Builder
	text.WriteString("| cases | possible | played | not reached | failed |\n|---|---|---|---|---|\n")
	for _, t := range report.Tallies {
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d |\n", t.Kind, t.Possible, t.Played, t.Missed, t.Failed)
	}
	fmt.Fprintf(&text, "\nseed %d, %s, %d not played for want of time\n", o.seed, took.Round(time.Second), report.Left)
	var failed []string
	if tried, changed, of := report.Coverage(); of > 0 {
		fmt.Fprintf(&text, "%d of %d fields of the schema were to be changed, and %d were\n", tried, of, changed)
	}
	if v := report.Vigil; v != nil {
		fmt.Fprintf(&text, "the ends of %d cases were looked after for %s: %d writes %v\n", v.Ends, v.Silence, len(v.Writes), v.Writes)
		if len(v.Writes) > 0 {
			fmt.Fprintf(&text, "\nFAILED the vigil\nreplay: make fault %s\n", o.again(""))
			failed = append(failed, "the vigil")
		}
	}
	for _, f := range report.Failures {
		fmt.Fprintf(&text, "\nFAILED %s\n%v\nreplay: make fault %s\n", f.Case, f.Err, o.again(f.Case))
		failed = append(failed, f.Case)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	played := slices.ContainsFunc(report.Tallies, func(t *campaign.Tally) bool { return t.Played > 0 })
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%d cases failed: %s", len(failed), strings.Join(failed, ", "))
	case !played:
		return errors.New("no case was played: there is none of the name or the beginning, none was drawn, or the time was over")
	}
	return nil
}
