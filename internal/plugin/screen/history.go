package screen

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/plugin/view"
)

// History shows revisions, the newest first. The one that every pod has served last is marked.
func (p Printer) History(revisions history.History, current int64) error {
	if len(revisions) == 0 {
		return p.printf("There are no revisions yet.")
	}
	t := p.table("REVISION", "STATE", "SERVED", "IMAGE", "CONFIG", "CAUSE", "FAILURE")
	sorted := slices.SortedFunc(slices.Values(revisions), func(a, b history.Revision) int { return cmp.Compare(b.Number, a.Number) })
	for _, r := range sorted {
		name := fmt.Sprint(r.Number)
		if r.Number == current {
			name += " *"
		}
		t.row(name, view.StateOf(&r), p.served(&r), r.Image, short(r.Config), r.Cause, failureOf(&r))
		if r.Failure.Reason != "" {
			t.mark(1, bad)
		}
	}
	return t.print()
}

func (p Printer) served(r *history.Revision) string {
	if r.ServedAt.IsZero() {
		return "never"
	}
	return p.age(r.ServedAt) + " ago"
}

func failureOf(r *history.Revision) string {
	if r.Failure.Reason == "" {
		return ""
	}
	return r.Failure.Reason + ": " + r.Failure.Message
}
