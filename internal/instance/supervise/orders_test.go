package supervise

import (
	"context"
	"os"
	"path/filepath"
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
	if err := s.Store.SaveRevision(oldRevision, oldFiles); err != nil {
		t.Fatal(err)
	}
	s.board.post(func(*Snapshot) *Snapshot {
		return &Snapshot{Status: instanceapi.Status{Serving: oldRevision, Available: []string{oldRevision}, Requested: instanceapi.Requested{Load: oldRevision}}}
	})
	return s
}

// oldFiles are what idleSupervisor serves.
var (
	oldFiles    = map[string]string{"site.conf": "# old"}
	oldRevision = nginxconf.Revision(oldFiles)
)

// TestOrderWithoutFiles: an order is refused, and changes nothing, unless the files of all that it requests are available or
// come with it.
func TestOrderWithoutFiles(t *testing.T) {
	files := map[string]string{"site.conf": "# new"}
	revision := nginxconf.Revision(files)
	brought := instanceapi.Contents{revision: files}
	for name, tt := range map[string]struct {
		before, order instanceapi.Requested
		contents      instanceapi.Contents
		want          instanceapi.Refusal
	}{
		"nothing":                             {order: instanceapi.Requested{}},
		"both are there":                      {order: instanceapi.Requested{Test: oldRevision, Load: oldRevision}},
		"the load is not there":               {order: instanceapi.Requested{Test: oldRevision, Load: revision}, want: instanceapi.MissingFiles},
		"the load comes with it":              {order: instanceapi.Requested{Test: oldRevision, Load: revision}, contents: brought},
		"the test is not there":               {order: instanceapi.Requested{Test: revision}, want: instanceapi.MissingFiles},
		"the test is not there, but a load":   {order: instanceapi.Requested{Test: revision, Load: oldRevision}, want: instanceapi.MissingFiles},
		"the test comes with it":              {order: instanceapi.Requested{Test: revision, Load: oldRevision}, contents: brought},
		"a test from before, and a load":      {before: instanceapi.Requested{Test: revision}, order: instanceapi.Requested{Test: revision, Load: oldRevision}},
		"a load from before is not there":     {before: instanceapi.Requested{Load: revision}, order: instanceapi.Requested{Load: revision}, want: instanceapi.MissingFiles},
		"another one than what comes with it": {order: instanceapi.Requested{Load: "abcdef12"}, contents: brought, want: instanceapi.MissingFiles},
	} {
		s := idleSupervisor(t)
		s.folders.requested = tt.before
		s.board.post(func(last *Snapshot) *Snapshot {
			last.Status.Requested = tt.before
			return last
		})
		before := s.Snapshot()
		if got := s.Order(instanceapi.Order{Requested: tt.order}, tt.contents); got != tt.want {
			t.Errorf("%s: refused as %q, want %q", name, got, tt.want)
		}
		if tt.want != "" {
			if s.Snapshot() != before || s.ordered.Load() != nil {
				t.Errorf("%s: the order changes something: %+v", name, s.Snapshot())
			}
			continue
		}
		if s.takeRequest(); s.folders.requested != tt.order {
			t.Errorf("%s: requested %+v", name, s.folders.requested)
		}
	}
}

// TestRequestedFilesAreKept: the files of what is requested are kept, from the moment at which an order is accepted and
// however many revisions come later, and no order is accepted for files that are not kept.
func TestRequestedFilesAreKept(t *testing.T) {
	s := idleSupervisor(t)
	request := func(text string) string {
		files := map[string]string{"site.conf": text}
		revision := nginxconf.Revision(files)
		if refusal := s.Order(instanceapi.Order{Requested: instanceapi.Requested{Test: revision}}, instanceapi.Contents{revision: files}); refusal != "" {
			t.Fatalf("refused as %s", refusal)
		}
		s.takeRequest()
		return revision
	}
	var tried []string
	for _, text := range []string{"a", "b", "c"} {
		tried = append(tried, request(text))
		s.prune(oldRevision)
	}
	back := instanceapi.Order{Requested: instanceapi.Requested{Test: oldRevision, Load: oldRevision}}
	if refusal := s.Order(back, nil); refusal != "" {
		t.Errorf("what is in use is refused as %s", refusal)
	}
	// It is not in use any more, the order is not taken yet, and three are newer.
	s.prune()
	if s.takeRequest(); s.folders.requested != back.Requested || !s.Store.Has(oldRevision) {
		t.Errorf("requested %+v, available %v", s.folders.requested, s.available())
	}
	if s.prune(); !s.Store.Has(oldRevision) {
		t.Error("what is requested is not kept")
	}
	for _, text := range []string{"d", "e", "f"} {
		request(text)
	}
	s.prune()
	for _, revision := range append(tried, oldRevision) {
		if refusal := s.Order(instanceapi.Order{Requested: instanceapi.Requested{Load: revision}}, nil); refusal != instanceapi.MissingFiles {
			t.Errorf("an order for the dropped revision %s is refused as %q", revision, refusal)
		}
	}
}

// TestMountedFilesAreKept: what is requested is kept even if the kubelet replaces the mounted files with which it came.
func TestMountedFilesAreKept(t *testing.T) {
	s := idleSupervisor(t)
	s.Stable, s.Next = t.TempDir(), t.TempDir()
	files := map[string]string{"site.conf": "# mounted"}
	revision := nginxconf.Revision(files)
	file := filepath.Join(s.Next, "site.conf")
	if err := os.WriteFile(file, []byte(files["site.conf"]), 0o600); err != nil {
		t.Fatal(err)
	}
	s.folders.next.refresh(s.Next)
	s.prune()
	if refusal := s.Order(instanceapi.Order{Requested: instanceapi.Requested{Test: revision}}, nil); refusal != "" {
		t.Fatalf("refused as %s", refusal)
	}
	s.takeRequest()
	if err := os.WriteFile(file, []byte("# another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := s.find(revision); err != nil || !cmp.Equal(files, found) {
		t.Errorf("found %v (%v)", found, err)
	}
	// The next one is gone when the loop takes the order: it is not taken, so that the operator repeats it.
	s.folders.next = mounted{}
	s.folders.next.refresh(s.Next)
	s.prune()
	gone := s.folders.next.revision
	if refusal := s.Order(instanceapi.Order{Requested: instanceapi.Requested{Load: gone}}, nil); refusal != "" {
		t.Fatalf("refused as %s", refusal)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if s.takeRequest(); s.folders.requested.Load != "" || s.ordered.Load() != nil {
		t.Errorf("requested %+v", s.folders.requested)
	}
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
	s.Order(instanceapi.Order{Requested: instanceapi.Requested{Test: oldRevision}}, nil)
	s.Order(instanceapi.Order{Requested: latest}, instanceapi.Contents{revision: files})
	if got := s.Snapshot(); got.Status.Requested != latest || !got.OrderPending || got.Status.Serving != oldRevision || !got.Status.HasFiles(revision) {
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
	followed, ordered := instanceapi.Requested{Test: "r1", Load: "r1"}, instanceapi.Requested{Test: oldRevision}
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
		order := instanceapi.Requested{Load: oldRevision}
		start := time.Now()
		s.Order(instanceapi.Order{Requested: order}, nil)
		var loop sync.WaitGroup
		defer loop.Wait()
		loop.Go(func() {
			time.Sleep(time.Second)
			s.takeRequest()
			s.board.post(func(*Snapshot) *Snapshot {
				return &Snapshot{Status: instanceapi.Status{Serving: oldRevision, Requested: order}}
			})
		})
		s.Await(t.Context(), order)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("it waited %s", waited)
		}
	})
}
