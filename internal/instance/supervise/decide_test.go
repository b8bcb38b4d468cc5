package supervise

import (
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	failed := func(load instanceapi.Verdict) *history {
		o := &outcome{Revision: instanceapi.Revision{Revision: "new", Test: instanceapi.Failed, Load: load}, failures: 1, retry: now.Add(time.Minute)}
		if load != "" {
			o.Test, o.failures = instanceapi.Passed, 0
		}
		return &history{outcomes: []*outcome{o}}
	}
	tests := map[string]struct {
		change func(*view)
		do     action
		about  string
		later  bool
	}{
		"nothing to do":                 {func(*view) {}, idle, "", false},
		"boots from stable":             {func(v *view) { v.running = false }, start, "old", false},
		"without files it waits":        {func(v *view) { v.running, v.stable = false, "" }, idle, "", false},
		"boots the requested load":      {func(v *view) { v.running, v.stable, v.requested.Load = false, "", "new" }, start, "new", false},
		"a refused boot is tried later": {func(v *view) { v.running, v.stable, v.past = false, "new", failed("") }, idle, "", true},
		"with new certificates at once": {func(v *view) { v.running, v.stable, v.past, v.inputs = false, "new", failed(""), 1 }, start, "new", false},
		"tests":                         {func(v *view) { v.requested.Test = "new" }, test, "new", false},
		"waits for the files":           {func(v *view) { v.requested.Test = "unknown" }, idle, "", false},
		"a failed test is tried later":  {func(v *view) { v.requested.Test, v.past = "new", failed("") }, idle, "", true},
		"loads":                         {func(v *view) { v.requested.Load = "new" }, load, "new", false},
		"loads before it tests":         {func(v *view) { v.requested = instanceapi.Requested{Test: "old2", Load: "new"} }, load, "new", false},
		"a failed load is not repeated": {func(v *view) { v.requested.Load, v.past = "new", failed(instanceapi.Failed) }, idle, "", false},
		"certificates come first":       {func(v *view) { v.certificatesDue, v.requested.Load = true, "new" }, publish, "", false},
		"a load waits for no old workers": {func(v *view) {
			v.requested.Load, v.tooManyGenerations, v.certificatesDue = "new", now.Add(time.Second), true
		}, load, "new", false},
		"certificates wait for old workers": {func(v *view) { v.certificatesDue, v.tooManyGenerations = true, now.Add(time.Second) }, idle, "", true},
		"and tests meanwhile": {func(v *view) {
			v.reloadRequested, v.requested, v.tooManyGenerations = true, instanceapi.Requested{Test: "new"}, now.Add(time.Second)
		}, test, "new", false},
		"changed files reload":                            {func(v *view) { v.mountsChanged = true }, reloadMounts, "old", false},
		"refused files are tried later":                   {func(v *view) { v.mountsChanged, v.retryMounts = true, now.Add(time.Second) }, idle, "", true},
		"changed files are loaded with the configuration": {func(v *view) { v.mountsChanged, v.requested.Load = true, "new" }, load, "new", false},
		"changed files do not start nginx":                {func(v *view) { v.mountsChanged, v.running, v.stable = true, false, "" }, idle, "", false},
		"changed files wait for old workers":              {func(v *view) { v.mountsChanged, v.tooManyGenerations = true, now.Add(time.Second) }, idle, "", true},
		"a test does not wait for refused files": {func(v *view) {
			v.mountsChanged, v.retryMounts, v.requested.Test = true, now.Add(time.Second), "new"
		}, test, "new", false},
		"a signal reloads":                      {func(v *view) { v.reloadRequested = true }, reload, "old", false},
		"what is not confirmed is loaded again": {func(v *view) { v.unverified = true }, reload, "old", false},
		"what crashes is undone first":          {func(v *view) { v.givenUp, v.certificatesDue = true, true }, undo, "", false},
		"but not at once":                       {func(v *view) { v.unverified, v.retryReload = true, now.Add(time.Second) }, idle, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := view{now: now, running: true, serving: "old", stable: "old", past: &history{},
				atHand: func(revision string) bool { return revision != "unknown" }}
			tt.change(&v)
			got := decide(v)
			if got.do != tt.do || got.revision != tt.about || !got.until.IsZero() != tt.later {
				t.Errorf("decide = %+v, want %d about %q, later %t", got, tt.do, tt.about, tt.later)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	requested := instanceapi.Requested{Test: "r"}
	refused := []instanceapi.Problem{{Message: "no"}}
	var h history
	h.touch("r").tested(nil, 0, now)
	h.touch("r").loaded(refused, now)
	h.forget(requested)
	h.allowDueRetries(now.Add(24 * time.Hour))
	if h.of("r").Load != instanceapi.Failed {
		t.Error("a load that nginx refused is forgotten while the revision is requested")
	}
	h.of("r").allowRetry(now)
	h.allowDueRetries(now.Add(firstAllowedRetry / 2))
	if h.of("r").Load != instanceapi.Failed {
		t.Error("a failed load is forgotten at once")
	}
	h.allowDueRetries(now.Add(firstAllowedRetry + time.Second))
	if o := h.of("r"); o.Load != "" || o.Test != instanceapi.Passed || o.Problems != nil {
		t.Errorf("after its pause the load is %+v, want it forgotten", o.Revision)
	}
	h.touch("r").loaded(refused, now)
	h.forget(instanceapi.Requested{})
	if h.of("r").Load != "" {
		t.Error("a failed load is remembered when the revision is no longer requested")
	}
	for i := range 20 {
		h.touch(string(rune('a'+i))).tested(nil, 0, now)
		h.forget(instanceapi.Requested{}, "r")
	}
	if n := len(h.outcomes); n > maxReportedRevisions+1 {
		t.Errorf("%d outcomes are remembered", n)
	}
}
