package supervise

import (
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// action is what the supervisor does next.
type action int

const (
	// idle until something changes.
	idle action = iota
	// publish new certificates, and reload nginx if it runs.
	publish
	// start nginx with a revision.
	start
	// load a revision into the running nginx.
	load
	// reload the revision that is served.
	reload
	// reloadMounts reloads the revision that is served, because mounted files have changed.
	reloadMounts
	// test a revision.
	test
	// undo the load of the revision that is served.
	undo
)

// step is the next action, and what it is about.
type step struct {
	do       action
	revision string
	// until is when an idle supervisor has to look again; zero: nothing is due.
	until time.Time
}

// view is everything that the decision depends on.
type view struct {
	now time.Time
	// running tells whether nginx runs, and serving the revision that its workers were
	// told last. They have not confirmed it while unverified.
	running    bool
	serving    string
	unverified bool
	// stable is the mounted revision to boot from.
	stable    string
	requested instanceapi.Requested
	// atHand tells whether the files of a revision are there.
	atHand func(revision string) bool
	past   *history
	// inputs counts the changes of what configurations read beside their own files:
	// certificates and the folders of ReloadOn.
	inputs int
	// certificatesDue tells that there is another certificate.
	certificatesDue bool
	// mountsChanged tells that nginx has not read what the folders of ReloadOn have now;
	// it is reloaded from retryMounts on.
	mountsChanged bool
	retryMounts   time.Time
	// givenUp tells that what was loaded last has failed on its probation.
	givenUp     bool
	reloadAsked bool
	retryReload time.Time
	// crowded until then: too many workers of earlier generations are alive.
	crowded time.Time
}

// decide is the whole order of precedence. It is pure.
//
// What fails on its probation is undone before all else. Certificates come next, as every test needs them. Then what is served is brought to
// what is asked for, and tests come last: nobody is waiting for them but the operator.
func decide(v view) step {
	reloads := !v.running || !v.now.Before(v.crowded)
	var next step
	switch {
	case v.givenUp:
		return step{do: undo}
	case v.certificatesDue && reloads:
		return step{do: publish}
	case !v.running:
		next = v.boot()
	case reloads:
		next = v.change()
	default:
		next.until = v.crowded
	}
	if next.do != idle {
		return next
	}
	return earlier(next, v.testing())
}

// boot tries stable, and then what the operator wants to be loaded.
func (v view) boot() step {
	var next step
	for _, revision := range []string{v.stable, v.requested.Load} {
		if revision == "" || !v.atHand(revision) {
			continue
		}
		due := v.past.of(revision).due(v.inputs)
		if !v.now.Before(due) {
			return step{do: start, revision: revision}
		}
		next = earlier(next, step{until: due})
	}
	return next
}

// change is what a running nginx has to be told.
func (v view) change() step {
	wanted := v.requested.Load
	switch {
	case wanted != "" && wanted != v.serving && v.atHand(wanted) && v.past.of(wanted).Load != instanceapi.Failed:
		return step{do: load, revision: wanted}
	case v.reloadAsked:
		return step{do: reload, revision: v.serving}
	case v.unverified && !v.now.Before(v.retryReload):
		return step{do: reload, revision: v.serving}
	case v.mountsChanged && !v.now.Before(v.retryMounts):
		return step{do: reloadMounts, revision: v.serving}
	}
	var next step
	if v.unverified {
		next.until = v.retryReload
	}
	if v.mountsChanged {
		next = earlier(next, step{until: v.retryMounts})
	}
	return next
}

func (v view) testing() step {
	wanted := v.requested.Test
	if wanted == "" || !v.atHand(wanted) || v.past.of(wanted).Test == instanceapi.Passed {
		return step{}
	}
	due := v.past.of(wanted).due(v.inputs)
	if v.now.Before(due) {
		return step{until: due}
	}
	return step{do: test, revision: wanted}
}

// earlier joins two steps of which the first is idle.
func earlier(a, b step) step {
	if b.do == idle && !a.until.IsZero() && (b.until.IsZero() || a.until.Before(b.until)) {
		return a
	}
	return b
}
