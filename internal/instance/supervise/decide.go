package supervise

import (
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// action is the kind of a step.
type action int

const (
	// idle waits until something changes.
	idle action = iota
	// publish publishes new certificates, and reloads nginx if it runs.
	publish
	// start starts nginx with a revision.
	start
	// load loads a revision into the running nginx.
	load
	// reload reloads the served revision.
	reload
	// reloadMounts reloads the served revision because mounted files have changed.
	reloadMounts
	// test tests a revision.
	test
	// undo rolls back the load of the served revision.
	undo
)

// step is the next action and the revision that it applies to.
type step struct {
	do       action
	revision string
	// until is when an idle supervisor has to decide again; zero: nothing is due.
	until time.Time
}

// view is everything that the decision depends on.
type view struct {
	now time.Time
	// running reports whether nginx runs, and serving is the revision that its workers are meant to
	// serve. While unverified is set, they have not confirmed it.
	running    bool
	serving    string
	unverified bool
	// stable is the mounted revision to boot from.
	stable    string
	requested instanceapi.Requested
	// atHand reports whether the files of a revision are available.
	atHand func(revision string) bool
	past   *history
	// inputs counts the changes of what configurations read besides their own files: certificates
	// and the folders of ReloadOn.
	inputs int
	// certificatesDue reports whether there are new certificates to publish.
	certificatesDue bool
	// mountsChanged reports whether nginx has not read the current contents of the folders of
	// ReloadOn, and retryMounts is when it may be reloaded for them.
	mountsChanged bool
	retryMounts   time.Time
	// givenUp reports whether the last load has failed on its probation.
	givenUp         bool
	reloadRequested bool
	retryReload     time.Time
	// tooManyGenerations is when to decide again about a reload that no order requests, while too many workers of earlier
	// generations are alive; zero: there are not too many. A load does not wait for them.
	tooManyGenerations time.Time
}

// decide holds the whole order of precedence. It is a pure function.
//
// A load that failed on its probation is undone first. Certificates come next, because every test
// needs them. Then nginx is brought to the requested revision. Tests come last: only the operator
// waits for them.
func decide(v view) step {
	reloads := !v.running || !v.now.Before(v.tooManyGenerations)
	var next step
	switch {
	case v.givenUp:
		return step{do: undo}
	case v.certificatesDue && reloads:
		return step{do: publish}
	case !v.running:
		next = v.boot()
	default:
		next = v.change(reloads)
	}
	if next.do != idle {
		return next
	}
	return soonerStep(next, v.testing())
}

// boot tries the stable revision first, and then the one that the operator requests to load.
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
		next = soonerStep(next, step{until: due})
	}
	return next
}

// change returns the next step for a running nginx. reloads reports whether it may be reloaded without an order.
func (v view) change(reloads bool) step {
	wanted := v.requested.Load
	switch {
	case wanted != "" && wanted != v.serving && v.atHand(wanted) && v.past.of(wanted).Load != instanceapi.Failed:
		return step{do: load, revision: wanted}
	case !reloads:
		return step{until: v.tooManyGenerations}
	case v.reloadRequested:
		return step{do: reload, revision: v.serving}
	case v.unverified && !v.now.Before(v.retryReload):
		return step{do: reload, revision: v.serving}
	case v.mountsChanged && !v.now.Before(v.retryMounts):
		return step{do: reloadMounts, revision: v.serving}
	}
	return v.awaitReload()
}

// awaitReload returns the idle step until the next reload without an order may be repeated.
func (v view) awaitReload() step {
	var next step
	if v.unverified {
		next.until = v.retryReload
	}
	if v.mountsChanged {
		next = soonerStep(next, step{until: v.retryMounts})
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

// soonerStep returns b, or the idle step a if b is idle too and a is due earlier.
func soonerStep(a, b step) step {
	if b.do == idle && !a.until.IsZero() && (b.until.IsZero() || a.until.Before(b.until)) {
		return a
	}
	return b
}
