package screen

import (
	"example.com/nginx-operator/internal/plugin/check"
)

// checkTones are the tones of the states of checks.
var checkTones = map[check.State]tone{check.OK: good, check.Warning: warning, check.Failed: bad}

// Checks shows the results of checks, and below them what to do.
func (p Printer) Checks(results []check.Result) error {
	t := p.table("STATE", "CHECK", "FOUND")
	for _, r := range results {
		t.row(string(r.State), r.Name, r.Message).mark(0, checkTones[r.State])
	}
	if err := t.print(); err != nil {
		return err
	}
	heading := "\nNext:\n"
	for _, r := range results {
		if r.Next == "" {
			continue
		}
		if err := p.printf("%s  %s: %s", heading, Safe(r.Name), Safe(r.Next)); err != nil {
			return err
		}
		heading = ""
	}
	return nil
}
