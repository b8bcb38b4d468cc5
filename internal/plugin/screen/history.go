package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"example.com/nginx-operator/internal/nginx/history"
)

// History shows revisions, the newest first. The one that every pod has served last is marked.
func History(w io.Writer, revisions history.History, current int64, now time.Time) error {
	if len(revisions) == 0 {
		_, err := fmt.Fprintln(w, "There are no revisions yet.")
		return err
	}
	t := newTable(w, "REVISION", "STATE", "SERVED", "IMAGE", "CONFIG", "CAUSE", "FAILURE")
	sorted := slices.SortedFunc(slices.Values(revisions), func(a, b history.Revision) int { return cmp.Compare(b.Number, a.Number) })
	for _, r := range sorted {
		name := fmt.Sprint(r.Number)
		if r.Number == current {
			name += " *"
		}
		t.row(name, stateOf(&r), served(&r, now), r.Image, short(r.Config), r.Cause, failureOf(&r))
	}
	return t.flush()
}

func stateOf(r *history.Revision) string {
	return string(cmp.Or(history.State(r.Stage), r.State))
}

func served(r *history.Revision, now time.Time) string {
	if r.ServedAt.IsZero() {
		return "never"
	}
	return age(now, r.ServedAt) + " ago"
}

func failureOf(r *history.Revision) string {
	if r.Failure.Reason == "" {
		return ""
	}
	return r.Failure.Reason + ": " + r.Failure.Message
}
