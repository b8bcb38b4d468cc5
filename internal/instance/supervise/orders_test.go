package supervise

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/store"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// TestCarriedOut: an order is carried out once its load has ended, or its test if it requests no load.
func TestCarriedOut(t *testing.T) {
	const passed, failed = instanceapi.Passed, instanceapi.Failed
	none, test, load := instanceapi.Requested{}, instanceapi.Requested{Test: "new"}, instanceapi.Requested{Test: "new", Load: "new"}
	back := instanceapi.Requested{Test: "new", Load: "old"}
	outcome := func(test, load instanceapi.Verdict) []instanceapi.Revision {
		return []instanceapi.Revision{{Revision: "old", Test: passed, Load: passed}, {Revision: "new", Test: test, Load: load}}
	}
	for name, tt := range map[string]struct {
		status instanceapi.Status
		want   bool
	}{
		"nothing requested":          {instanceapi.Status{Requested: none}, true},
		"not tested":                 {instanceapi.Status{Requested: test, Serving: "old"}, false},
		"another one tested":         {instanceapi.Status{Requested: test, Serving: "old", Revisions: []instanceapi.Revision{{Revision: "old", Test: passed}}}, false},
		"only loaded without a test": {instanceapi.Status{Requested: test, Serving: "old", Revisions: outcome("", passed)}, false},
		"test passed":                {instanceapi.Status{Requested: test, Serving: "old", Revisions: outcome(passed, "")}, true},
		"test failed":                {instanceapi.Status{Requested: test, Serving: "old", Revisions: outcome(failed, "")}, true},
		"load failed before":         {instanceapi.Status{Requested: test, Serving: "old", Revisions: outcome("", failed)}, true},
		"served":                     {instanceapi.Status{Requested: test, Serving: "new"}, true},
		"not loaded":                 {instanceapi.Status{Requested: load, Serving: "old", Revisions: outcome(passed, "")}, false},
		"not loaded again":           {instanceapi.Status{Requested: load, Serving: "old", Revisions: outcome(passed, passed)}, false},
		"nothing served":             {instanceapi.Status{Requested: load, Revisions: outcome(passed, "")}, false},
		"compared":                   {instanceapi.Status{Requested: load, Serving: "new", Comparing: true, Revisions: outcome(passed, passed)}, false},
		"loaded":                     {instanceapi.Status{Requested: load, Serving: "new", Revisions: outcome(passed, passed)}, true},
		"load failed":                {instanceapi.Status{Requested: load, Serving: "old", Revisions: outcome(passed, failed)}, true},
		"its test failed":            {instanceapi.Status{Requested: load, Serving: "old", Revisions: outcome(failed, "")}, true},
		"goes back":                  {instanceapi.Status{Requested: back, Serving: "new", Revisions: outcome(passed, failed)}, false},
		"went back":                  {instanceapi.Status{Requested: back, Serving: "old"}, true},
	} {
		if got := carriedOut(&tt.status); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSettled: waiting ends early only if the order will not be carried out.
func TestSettled(t *testing.T) {
	order := instanceapi.Requested{Load: "new"}
	done := instanceapi.Status{Requested: order, Serving: "new"}
	for name, tt := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"done":                {func(*Snapshot) {}, true},
		"not done":            {func(s *Snapshot) { s.Status.Serving = "old" }, false},
		"not taken":           {func(s *Snapshot) { s.OrderPending = true }, false},
		"overtaken":           {func(s *Snapshot) { s.Status.Requested.Load, s.OrderPending = "newer", true }, true},
		"draining":            {func(s *Snapshot) { s.Status.Serving, s.Status.Draining = "old", true }, true},
		"draining, not taken": {func(s *Snapshot) { s.OrderPending, s.Status.Draining = true, true }, true},
	} {
		snapshot := Snapshot{Status: done}
		tt.change(&snapshot)
		if got := settled(&snapshot, order); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAwait: it returns with the snapshot that satisfies the condition, or when the context is done.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b board
		b.post(func(*Snapshot) *Snapshot { return &Snapshot{} })
		served := func(s *Snapshot) bool { return s.Status.Serving != "" }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		b.await(ctx, func(*Snapshot) bool { return true })
		if waited := time.Since(start); waited != 0 {
			t.Errorf("it waited %s for what is so", waited)
		}
		var waiters sync.WaitGroup
		for range 3 {
			waiters.Go(func() { b.await(ctx, served) })
		}
		for _, serving := range []string{"", "", "new"} {
			time.Sleep(time.Second)
			b.post(func(last *Snapshot) *Snapshot {
				next := *last
				next.Status.Serving = serving
				return &next
			})
		}
		waiters.Wait()
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("it waited %s", waited)
		}
		b.await(ctx, func(*Snapshot) bool { return false })
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("it waited %s without success", waited)
		}
	})
}

// idleSupervisor returns a Supervisor without nginx, whose loop does not run.
func idleSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	files, err := store.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Supervisor{Options: Options{Store: files, Follow: func() string { return "" }}, wake: make(chan struct{}, 1)}
	s.board.post(func(*Snapshot) *Snapshot {
		return &Snapshot{Status: instanceapi.Status{Serving: "old", Requested: instanceapi.Requested{Load: "old"}}}
	})
	return s
}

// TestOrder: an order is visible at once, wakes the loop, and is taken once. The latest one counts.
func TestOrder(t *testing.T) {
	s := idleSupervisor(t)
	if s.takeRequest(); s.folders.ordered {
		t.Error("there was an order before the first one")
	}
	files := map[string]string{"site.conf": "server {}"}
	revision := nginxconf.Revision(files)
	latest := instanceapi.Requested{Test: revision, Load: revision}
	s.Order(instanceapi.Order{Requested: instanceapi.Requested{Test: "early"}}, nil)
	s.Order(instanceapi.Order{Requested: latest}, instanceapi.Contents{revision: files})
	if got := s.Snapshot(); got.Status.Requested != latest || !got.OrderPending || got.Status.Serving != "old" {
		t.Errorf("snapshot %+v", got)
	}
	<-s.wake
	s.takeRequest()
	kept, err := s.Store.Find(revision)
	if diff := cmp.Diff(files, kept); err != nil || diff != "" || s.folders.requested != latest || !s.folders.ordered {
		t.Errorf("requested %+v (%v), files -want +got:\n%s", s.folders.requested, err, diff)
	}
	s.folders.requested = instanceapi.Requested{}
	if s.takeRequest(); s.folders.requested != (instanceapi.Requested{}) {
		t.Error("an order was taken twice")
	}
}

// TestOrderWithoutSpace: an order whose files cannot be kept is not taken, so that the operator repeats it.
func TestOrderWithoutSpace(t *testing.T) {
	s := idleSupervisor(t)
	s.Order(instanceapi.Order{Requested: instanceapi.Requested{Test: "../x"}}, instanceapi.Contents{"../x": {"site.conf": ""}})
	if s.takeRequest(); s.folders.requested != (instanceapi.Requested{}) || s.ordered.Load() != nil {
		t.Errorf("requested %+v", s.folders.requested)
	}
}

// TestFollow: without an order, the pod loads what the mounted files let it follow, and an order comes first.
func TestFollow(t *testing.T) {
	s := idleSupervisor(t)
	followed, ordered := instanceapi.Requested{Test: "r1", Load: "r1"}, instanceapi.Requested{Test: "r2"}
	s.Follow = func() string { return "r1" }
	if s.takeRequest(); s.folders.requested != followed || !s.folders.ordered {
		t.Errorf("requested %+v", s.folders.requested)
	}
	s.Order(instanceapi.Order{Requested: ordered}, nil)
	if s.takeRequest(); s.folders.requested != ordered {
		t.Errorf("requested %+v after an order", s.folders.requested)
	}
}

// TestAwaitUntilTaken: what the pod serves already is no answer to an order that the loop has not taken.
func TestAwaitUntilTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := idleSupervisor(t)
		order := instanceapi.Requested{Load: "old"}
		start := time.Now()
		s.Order(instanceapi.Order{Requested: order}, nil)
		var loop sync.WaitGroup
		defer loop.Wait()
		loop.Go(func() {
			time.Sleep(time.Second)
			s.takeRequest()
			s.board.post(func(*Snapshot) *Snapshot {
				return &Snapshot{Status: instanceapi.Status{Serving: "old", Requested: order}}
			})
		})
		s.Await(t.Context(), order)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("it waited %s", waited)
		}
	})
}
