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
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	rollbackReplicas = 2
	rollbackRate     = 60
	// rollbackDeadline is the default rollout.progressDeadlineSeconds. rollbackSlack is how much
	// longer than its limit a rollback may take, in seconds.
	rollbackDeadline = 20
	rollbackSlack    = 15
	// rollbackParallel is the number of rollouts at a time.
	rollbackParallel = 3
	// rollbackKinds is the goal for the number of kinds of bad rollouts.
	rollbackKinds = 12
	// rollbackPatience bounds the time of one rollback.
	rollbackPatience = 3 * time.Minute
)

// rollbackRun is the result of one bad rollout.
type rollbackRun struct {
	*bench
	kind  badRollout
	nginx *v1alpha2.NginxOperator
	// noticed is the time until the status reported the failure, and back the time until only pods
	// of the good revision were left, both from the edit.
	noticed, back time.Duration
	// message is the condition's message, and missing is what it lacks.
	message string
	missing []string
	report  load.Report
	// lowest is the lowest number of ready pods.
	lowest int
	// restarted counts restarts of containers of earlier pods, gone counts earlier pods that are
	// gone.
	restarted, gone int
	err             error
}

// measureRollback changes applications under load in every way that does not work, and checks the
// result.
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
	_ = group.Wait() // errors are in the runs
	return rollbackFigures(runs), ctx.Err()
}

// run changes an application under load, and waits until the change is rolled back.
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
	// Clean up the cluster even after a timeout.
	ctx = context.WithoutCancel(ctx)
	if r.report, err = running.Stop(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	if r.restarted, r.gone, err = r.restarts(ctx, r.nginx, before); err != nil {
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, r.client.Delete(ctx, r.nginx))
}

// begin creates an application and puts load on it.
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
		options.Clients[i].Expect = "" // the revision is also in a header
		if !options.Clients[i].KeepAlive {
			// Have enough clients that some are left while others wait for a slow response.
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

// fail makes the change, and waits until it is rolled back.
func (r *rollbackRun) fail(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { r.kind.edit(r.bench, s) }); err != nil {
		return err
	}
	var reported *metav1.Condition
	err := r.await(ctx, r.nginx, "it is rolled back", func(n *v1alpha2.NginxOperator) bool {
		reported = meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionUpToDate)
		return reported != nil && reported.Reason == v1alpha2.ReasonRolledBack && reported.ObservedGeneration == n.Generation
	})
	r.noticed = time.Since(start)
	if reported != nil {
		r.message = reported.Message
	}
	if err != nil {
		return err
	}
	for _, text := range append([]string{r.kind.reason + ": "}, r.kind.texts...) {
		if !strings.Contains(r.message, text) {
			r.missing = append(r.missing, text)
		}
	}
	err = r.wholly(ctx)
	r.back = time.Since(start)
	return err
}

// wholly waits until no pod of the failed revision is left, and all others serve the good
// configuration.
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
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: naming.Workload(r.nginx.Name)}, d); err != nil {
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

// spoilt returns the number of requests that got a bad response from a canary by design. No other
// request should have failed.
func (r *rollbackRun) spoilt() int64 {
	if r.kind.answers {
		return r.report.Failures[load.WrongStatus]
	}
	return 0
}

func (r *rollbackRun) ended() bool { return r.err == nil && len(r.missing) == 0 }

func (r *rollbackRun) figure() figure.Figure {
	details := []string{
		fmt.Sprintf("rollback complete after %.1f s; %d requests, %d failed; fewest ready pods: %d of %d; %d of the previous pods were replaced",
			r.back.Seconds(), r.report.Requests, r.report.Failed-r.spoilt(), r.lowest, rollbackReplicas, r.gone),
		"condition UpToDate: " + r.message,
	}
	if n := r.spoilt(); n > 0 {
		details = append(details, fmt.Sprintf("%d more requests were answered with 5xx by the canary, as intended", n))
	}
	if r.err != nil {
		details = append(details, "it failed: "+r.err.Error())
	}
	for _, text := range r.missing {
		details = append(details, fmt.Sprintf("the message lacks %q", text))
	}
	return figure.HasGoal(r.kind.name+": edit → rolled back", r.noticed.Seconds(), "s", figure.AtMost(r.kind.limit+rollbackSlack), append(details, tallies(r.report)...)...)
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
		figure.HasGoal("kinds of bad rollouts", float64(len(runs)), "kinds", figure.AtLeast(rollbackKinds)),
		figure.HasGoal("of these did not end in the last good revision with the reason reported", float64(len(bad)), "kinds", figure.AtMost(0), bad...),
		figure.Info("requests meanwhile", float64(requests), "requests"),
		figure.HasGoal("requests failed meanwhile", float64(failed), "requests", figure.AtMost(0)),
		figure.Info("requests that a bad canary answered with 5xx", float64(spoilt), "requests"),
		figure.HasGoal("ready pods below the promised minimum, at most", float64(fewer), "pods", figure.AtMost(0)),
		figure.HasGoal("pods that served before and were replaced or restarted", float64(touched), "pods", figure.AtMost(0)))
}
