package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/standin/kubelet"
)

const (
	// fewPods and manyPods are the numbers of pods of one application that is changed, edits times in a row.
	fewPods, manyPods = 10, 100
	edits             = 20
	// editsWithin is the time in which every application of a fleet is edited once.
	editsWithin = time.Minute
	// provenWithin bounds the wait after the last of these edits. What is not proven then counts as such.
	provenWithin = time.Minute
)

// ChangesResult has the results of Changes.
type ChangesResult struct {
	options Options
	// few and many are changes of one application, one after the other.
	few, many sequence
	fleet     fleetChanges
}

// sequence has the results of changes of one application.
type sequence struct {
	pollPhase
	pods int32
	// served are the times from an edit until every pod serves it, and proven those until the status says so.
	served, proven latencies
}

// fleetChanges has the results of one change of each application.
type fleetChanges struct {
	pollPhase
	// served and proven are those of a sequence. Edits that were not proven are in neither.
	served, proven latencies
	// early counts statuses that said that pods serve an edit which some did not serve yet.
	early int
	// tail is the time from the last edit to the last proof.
	tail time.Duration
	// before and after are the operator's memory.
	before, after memory
}

// Changes measures how soon changed configurations are served: of one application with few and with many pods, and of
// many applications in a short time. The instances are stand-ins, whose tests and loads take no time.
func Changes(ctx context.Context, options Options) (result ChangesResult, err error) {
	result.options = options
	err = withOperator(ctx, options, func(b *bench) error { return (&changes{bench: b}).measure(ctx, &result) })
	return result, err
}

func (c *changes) measure(ctx context.Context, result *ChangesResult) (err error) {
	all := map[string]disturbance{namespace: c.requests.count}
	for _, pods := range []int32{fewPods, manyPods} {
		all[sequenceNamespace(pods)] = c.requests.count
	}
	var stop func() error
	if c.nodes, stop, err = c.startNodes(ctx, all); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if result.few, err = c.sequence(ctx, fewPods); err != nil {
		return err
	}
	if result.many, err = c.sequence(ctx, manyPods); err != nil {
		return err
	}
	result.fleet, err = c.fleet(ctx)
	return err
}

// changes is a bench whose instances count their requests.
type changes struct {
	*bench
	nodes    *kubelet.Kubelet
	requests instanceRequests
}

func sequenceNamespace(pods int32) string { return fmt.Sprintf("%s-%d-pods", namespace, pods) }

// sequence creates an application, and edits it several times.
func (c *changes) sequence(ctx context.Context, pods int32) (s sequence, err error) {
	s.pods = pods
	in := sequenceNamespace(pods)
	if err := c.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}}); err != nil {
		return s, err
	}
	if _, err := c.phase(ctx, fmt.Sprintf("one application with %d pods", pods), c.creation(in, 1, pods, ready)); err != nil {
		return s, err
	}
	s.pollPhase, err = c.pollPhase(ctx, &c.requests, fmt.Sprintf("%d changes of one application with %d pods", edits, pods), func(ctx context.Context) error {
		for n := range edits {
			e := edit{app: client.ObjectKey{Namespace: in, Name: fleet.Name(0)}, text: fmt.Sprintf("server { listen 80; return 200 change-%d; }", n)}
			if err := c.change(ctx, &e, pods); err != nil {
				return err
			}
			s.served, s.proven = append(s.served, e.served), append(s.proven, e.proven)
		}
		return nil
	})
	slices.Sort(s.served)
	slices.Sort(s.proven)
	return s, err
}

// change edits an application, and waits until the status says that all pods serve the edit.
func (c *changes) change(ctx context.Context, e *edit, pods int32) error {
	e.began = time.Now()
	if err := c.configure(ctx, e.app.Namespace, 0, e.text); err != nil {
		return err
	}
	if err := fleet.Await(ctx, c.plane.watching, e.app.Namespace, 1, func(nginx *v1alpha2.NginxOperator) bool {
		return e.check(nginx, c.nodes, pods)
	}); err != nil {
		return err
	}
	if e.early {
		return fmt.Errorf("the status says that %d pods serve %q, and some do not", pods, e.text)
	}
	return nil
}

// edit is an edit of an application.
type edit struct {
	app  client.ObjectKey
	text string
	// began is when it was made; zero: not yet.
	began time.Time
	// done reports whether the status says that all pods serve it, and early whether some did not at that time.
	done, early bool
	// served is the time until all pods served it, and proven the time until the status said so.
	served, proven time.Duration
}

// check reports whether a status says that all pods serve the edit, and records the times when the first one does.
func (e *edit) check(nginx *v1alpha2.NginxOperator, nodes *kubelet.Kubelet, pods int32) bool {
	revision := revisionOf(e.text)
	if e.done || !serves(nginx, revision, pods) {
		return e.done
	}
	e.done, e.proven = true, time.Since(e.began)
	instances, since := nodes.ServedSince(e.app, revision)
	e.early, e.served = instances != int(pods), since.Sub(e.began)
	return true
}

// fleet creates applications, and edits each of them once.
func (c *changes) fleet(ctx context.Context) (f fleetChanges, err error) {
	if _, err := c.phase(ctx, "create, with pods", c.creation(namespace, c.Objects, PodsEach, ready)); err != nil {
		return f, err
	}
	if f.before, err = c.memory(); err != nil {
		return f, err
	}
	made := &fleetEdits{nodes: c.nodes, edits: map[string]*edit{}}
	for i := range c.Objects {
		name := fleet.Name(i)
		made.edits[name] = &edit{app: client.ObjectKey{Namespace: namespace, Name: name}, text: fmt.Sprintf("server { listen 80; return 200 %s; }", name)}
	}
	f.pollPhase, err = c.pollPhase(ctx, &c.requests, fmt.Sprintf("one change of each within %s", editsWithin), func(ctx context.Context) error {
		return c.changeFleet(ctx, made)
	})
	if err != nil {
		return f, err
	}
	f.after, err = c.memory()
	made.summarize(&f)
	return f, err
}

// changeFleet makes the edits, and waits until they are proven, or provenWithin is over.
func (c *changes) changeFleet(ctx context.Context, made *fleetEdits) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	proven := make(chan error, 1)
	go func() { proven <- fleet.Await(watching, c.plane.watching, namespace, c.Objects, made.check) }()
	start := time.Now()
	var writing errgroup.Group
	for i := range c.Objects {
		if err := pause(ctx, time.Until(start.Add(editsWithin*time.Duration(i)/time.Duration(c.Objects)))); err != nil {
			return err
		}
		writing.Go(func() error { return c.configure(ctx, namespace, i, made.begin(fleet.Name(i))) })
	}
	if err := writing.Wait(); err != nil {
		return err
	}
	select {
	case err := <-proven:
		return err
	case <-time.After(provenWithin):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fleetEdits are the edits of a fleet, by the name of the application.
type fleetEdits struct {
	nodes *kubelet.Kubelet
	mu    sync.Mutex
	edits map[string]*edit
}

// begin begins an edit, and returns its text.
func (f *fleetEdits) begin(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.edits[name].began = time.Now()
	return f.edits[name].text
}

func (f *fleetEdits) check(nginx *v1alpha2.NginxOperator) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.edits[nginx.Name].check(nginx, f.nodes, PodsEach)
}

// summarize adds the times to the results.
func (f *fleetEdits) summarize(to *fleetChanges) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var edited, proven time.Time
	for _, e := range f.edits {
		if e.began.After(edited) {
			edited = e.began
		}
		if !e.done {
			continue
		}
		if at := e.began.Add(e.proven); at.After(proven) {
			proven = at
		}
		if e.early {
			to.early++
			continue
		}
		to.served, to.proven = append(to.served, e.served), append(to.proven, e.proven)
	}
	to.tail = max(0, proven.Sub(edited))
	slices.Sort(to.served)
	slices.Sort(to.proven)
}
