package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	rollbackReplicas = 2
	rollbackRate     = 60
	// rollbackDeadline is rollout.progressDeadlineSeconds of all, and rollbackSlack how much
	// longer than what it waits for a rollback may take, in seconds.
	rollbackDeadline = 20
	rollbackSlack    = 15
	// rollbackParallel is how many rollouts go on at a time.
	rollbackParallel = 3
	// rollbackKinds is how many kinds of bad rollouts there are to be.
	rollbackKinds = 12
	// rollbackPatience is how long one may take.
	rollbackPatience = 3 * time.Minute
)

// rollbackRun is what came of one bad rollout.
type rollbackRun struct {
	*bench
	kind  badRollout
	nginx *v1alpha2.NginxOperator
	// noticed is how long the status took to tell, back how long it took until only pods of
	// the good revision were left, both from the edit.
	noticed, back time.Duration
	// message is what the condition says, missing what it should say and does not.
	message string
	missing []string
	report  load.Report
	// lowest is how many pods were ready when there were fewest.
	lowest int
	// restarted counts containers of pods that served before, gone such pods.
	restarted, gone int
	err             error
}

// measureRollback changes applications under load in every way that does not work, and
// looks what becomes of them.
func measureRollback(ctx context.Context, s *session) ([]figure.Figure, error) {
	var runs []*rollbackRun
	var group errgroup.Group
	group.SetLimit(rollbackParallel)
	for _, kind := range badRollouts() {
		b, err := s.bench(ctx)
		if err != nil {
			return nil, err
		}
		r := &rollbackRun{bench: b, kind: kind}
		runs = append(runs, r)
		if kind.undo != nil {
			s.atEnd(func(ctx context.Context) error { return kind.undo(ctx, r) })
		}
		group.Go(func() error {
			limited, cancel := context.WithTimeoutCause(ctx, rollbackPatience, fmt.Errorf("not within %s", rollbackPatience))
			defer cancel()
			r.err = r.run(limited)
			s.progress("rollback: %s: %.1f s, %v: %s", kind.name, r.noticed.Seconds(), r.err, r.message)
			return nil
		})
	}
	_ = group.Wait() // What went wrong is in the runs.
	return rollbackFigures(runs), ctx.Err()
}

// run changes an application that serves under load, and waits until the change is undone.
func (r *rollbackRun) run(ctx context.Context) error {
	running, before, err := r.begin(ctx)
	if err != nil {
		return err
	}
	watched, err := r.watch(ctx, r.nginx)
	if err != nil {
		return err
	}
	failed := errors.Join(r.fail(ctx), pause(ctx, trafficSettle))
	r.lowest, err = watched.stop()
	failed = errors.Join(failed, err)
	// The cluster is left to others as it was, even when the time was over.
	ctx = context.WithoutCancel(ctx)
	if r.report, err = running.Stop(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	if r.restarted, r.gone, err = r.restarts(ctx, r.nginx, before); err != nil {
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, r.client.Delete(ctx, r.nginx))
}

// begin makes an application that serves, and puts load on it.
func (r *rollbackRun) begin(ctx context.Context) (*incluster.Load, []corev1.Pod, error) {
	image := r.newest()
	if r.kind.oldest {
		image = r.images[0]
	}
	declared := spec(rollbackReplicas, image, r.kind.files())
	declared.Rollout = &v1alpha2.Rollout{
		ProgressDeadlineSeconds: new(cmp.Or(r.kind.deadline, rollbackDeadline)),
		MinReadySeconds:         &r.kind.minReady, Canary: r.kind.canary,
	}
	err := r.createFlaws(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.nginx, err = r.create(ctx, "web", declared); err != nil {
		return nil, nil, err
	}
	address, err := r.address(ctx, r.nginx, site.Port)
	if err != nil {
		return nil, nil, err
	}
	options := site.Site{}.Options(rollbackRate, address)
	options.Revisions = []string{goodRevision}
	for i := range options.Clients {
		options.Clients[i].Expect = "" // The revision is in a header as well.
		if !options.Clients[i].KeepAlive {
			// Enough that some are left while others wait for a slow answer.
			options.Clients[i].Count *= 4
		}
	}
	running, err := r.load(ctx, "load", options)
	if err != nil {
		return nil, nil, err
	}
	before, err := r.pods(ctx, r.nginx)
	if err == nil && r.kind.prepare != nil {
		err = r.kind.prepare(ctx, r)
	}
	return running, before, err
}

// fail makes the change, and waits until it is undone.
func (r *rollbackRun) fail(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { r.kind.edit(r.bench, s) }); err != nil {
		return err
	}
	var told *metav1.Condition
	err := r.await(ctx, r.nginx, "it is rolled back", func(n *v1alpha2.NginxOperator) bool {
		told = meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionUpToDate)
		return told != nil && told.Reason == v1alpha2.ReasonRolledBack && told.ObservedGeneration == n.Generation
	})
	r.noticed = time.Since(start)
	if told != nil {
		r.message = told.Message
	}
	if err != nil {
		return err
	}
	for _, words := range append([]string{r.kind.reason + ": "}, r.kind.words...) {
		if !strings.Contains(r.message, words) {
			r.missing = append(r.missing, words)
		}
	}
	err = r.wholly(ctx)
	r.back = time.Since(start)
	return err
}

// wholly waits until no pod of what failed is left, and all others serve what is good.
func (r *rollbackRun) wholly(ctx context.Context) error {
	good := nginxconf.Revision(r.kind.files())
	err := r.await(ctx, r.nginx, "all pods serve the last good configuration", func(n *v1alpha2.NginxOperator) bool {
		c := n.Status.Config
		return c != nil && c.Revision == good && c.LoadedReplicas == rollbackReplicas
	})
	if err != nil {
		return err
	}
	for {
		d := &appsv1.Deployment{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: naming.Deployment(r.nginx.Name)}, d); err != nil {
			return err
		}
		pods, err := r.pods(ctx, r.nginx)
		if err != nil || rolledOut(d) && !d.Spec.Paused && len(pods) == rollbackReplicas {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// spoilt are the requests that a canary answered with what is wrong with it. All others
// that fail should not have.
func (r *rollbackRun) spoilt() int64 {
	if r.kind.answers {
		return r.report.Failures[load.WrongStatus]
	}
	return 0
}

func (r *rollbackRun) ended() bool { return r.err == nil && len(r.missing) == 0 }

func (r *rollbackRun) figure() figure.Figure {
	details := []string{
		fmt.Sprintf("wholly back after %.1f s; %d requests, %d failed; ready pods at the lowest: %d of %d; of the pods from before %d were replaced",
			r.back.Seconds(), r.report.Requests, r.report.Failed-r.spoilt(), r.lowest, rollbackReplicas, r.gone),
		"UpToDate says: " + r.message,
	}
	if n := r.spoilt(); n > 0 {
		details = append(details, fmt.Sprintf("%d more requests were answered with 5xx by the canary, which is what it is for", n))
	}
	if r.err != nil {
		details = append(details, "it did not end well: "+r.err.Error())
	}
	for _, words := range r.missing {
		details = append(details, fmt.Sprintf("the message lacks %q", words))
	}
	return figure.Judged(r.kind.name+": edit → rolled back", r.noticed.Seconds(), "s", figure.AtMost(r.kind.limit+rollbackSlack), append(details, tallies(r.report)...)...)
}

func rollbackFigures(runs []*rollbackRun) []figure.Figure {
	var figures []figure.Figure
	var requests, failed, spoilt int64
	var bad []string
	fewer, touched := 0, 0
	for _, r := range runs {
		figures = append(figures, r.figure())
		requests += r.report.Requests
		failed += r.report.Failed - r.spoilt()
		spoilt += r.spoilt()
		fewer = max(fewer, rollbackReplicas-r.lowest)
		touched += r.gone + r.restarted
		if !r.ended() {
			bad = append(bad, r.kind.name)
		}
	}
	return append(figures,
		figure.Judged("kinds of bad rollouts", float64(len(runs)), "kinds", figure.AtLeast(rollbackKinds)),
		figure.Judged("of these did not end in the last good revision, with the reason told", float64(len(bad)), "kinds", figure.AtMost(0), bad...),
		figure.Info("requests meanwhile", float64(requests), "requests"),
		figure.Judged("requests failed meanwhile", float64(failed), "requests", figure.AtMost(0)),
		figure.Info("requests that a bad canary answered with 5xx", float64(spoilt), "requests"),
		figure.Judged("pods fewer than promised were ready, at most", float64(fewer), "pods", figure.AtMost(0)),
		figure.Judged("pods that served before and were replaced or restarted", float64(touched), "pods", figure.AtMost(0)))
}
