package scale

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
)

// PodsEach is the number of pods of an application in Pods.
const PodsEach = 2

// site is the file of a configuration.
const site = "site.conf"

// PodsResult has the results of Pods.
type PodsResult struct {
	options Options
	// arrive lasts from when there are no pods until the status reports all of them. change lasts
	// from the edit of every configuration until every pod serves it.
	arrive, change pollPhase
	idle           pollPhase
	restart        restart
	// The operator's memory with all objects and no pods, with the pods, and after the idle time.
	without, with, settled memory
}

// Pods measures applications with pods. The Deployment and ReplicaSet controllers are real, the
// kubelets and the instances are stand-ins. kwok (https://kwok.sigs.k8s.io) also simulates the
// status of pods, but the operator also sends HTTP requests to each pod, which kwok would not
// answer.
func Pods(ctx context.Context, options Options) (result PodsResult, err error) {
	result.options = options
	err = withOperator(ctx, options, func(b *bench) (err error) {
		if _, err = b.phase(ctx, "create", b.creation(namespace, b.Objects, PodsEach, fleet.Observed)); err != nil {
			return err
		}
		if result.without, err = b.memory(); err != nil {
			return err
		}
		return b.withPods(ctx, &result)
	})
	return result, err
}

// withPods runs the phases with kubelets.
func (b *bench) withPods(ctx context.Context, result *PodsResult) (err error) {
	q := &instanceRequests{}
	_, stop, err := b.startNodes(ctx, map[string]disturbance{namespace: q.count})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	revision, change := b.edit()
	if result.arrive, err = b.pollPhase(ctx, q, "pods", b.await(ready)); err != nil {
		return err
	}
	if result.with, err = b.memory(); err != nil {
		return err
	}
	if result.change, err = b.pollPhase(ctx, q, "another configuration", func(ctx context.Context) error {
		if err := change(ctx); err != nil {
			return err
		}
		return b.await(func(nginx *v1alpha2.NginxOperator) bool { return serves(nginx, revision, PodsEach) })(ctx)
	}); err != nil {
		return err
	}
	idle := func(ctx context.Context) error { return pause(ctx, b.Window) }
	if result.idle, err = b.pollPhase(ctx, q, fmt.Sprintf("idle for %s", b.Window), idle); err != nil {
		return err
	}
	if result.settled, err = b.memory(); err != nil {
		return err
	}
	var again Result
	err = b.restart(ctx, &again)
	result.restart = again.restart
	return err
}

// edit returns the revision of a new configuration, and a function that gives it to every
// application.
func (b *bench) edit() (revision string, change func(context.Context) error) {
	const text = "server { listen 80; return 200 changed; }"
	return revisionOf(text), func(ctx context.Context) error {
		return fleet.Each(ctx, b.Objects, func(i int) error {
			return b.configure(ctx, namespace, i, text)
		})
	}
}

// configure gives an application a configuration.
func (b *bench) configure(ctx context.Context, namespace string, i int, text string) error {
	return b.plane.Client.Patch(ctx, fleet.Object(namespace, i), merge(fmt.Sprintf(`{"spec":{"config":{"files":{%q:%q}}}}`, site, text)))
}

// revisionOf returns the revision of a configuration.
func revisionOf(text string) string { return nginxconf.Revision(nginxconf.Files{site: text}) }

func (b *bench) await(met fleet.Condition) func(context.Context) error {
	return func(ctx context.Context) error { return fleet.Await(ctx, b.plane.watching, namespace, b.Objects, met) }
}

func ready(nginx *v1alpha2.NginxOperator) bool {
	return fleet.Observed(nginx) && meta.IsStatusConditionTrue(nginx.Status.Conditions, v1alpha2.ConditionReady)
}

// serves reports whether the status is ready and says that a number of pods serve a configuration.
func serves(nginx *v1alpha2.NginxOperator, revision string, pods int32) bool {
	c := nginx.Status.Config
	return ready(nginx) && c != nil && c.Revision == revision && c.LoadedReplicas == pods
}

// Figures returns the results of Pods with their goals.
func (r PodsResult) Figures() []figure.Figure {
	pods := r.options.Objects * PodsEach
	all := []figure.Figure{figure.Info("pods", float64(pods), "pods")}
	for _, c := range []struct {
		name  string
		phase pollPhase
	}{{"pods arrive", r.arrive}, {"another configuration", r.change}} {
		written, read := c.phase.requests[audit.Write], c.phase.requests[audit.Read]
		all = append(all,
			figure.Info(c.name+": took", c.phase.took.Seconds(), "s", load(c.phase.usage)),
			figure.Info(c.name+": writes per pod", each(written, pods), "requests", audit.Each(written, pods)...),
			figure.Info(c.name+": reads per pod", each(read, pods), "requests", audit.Each(read, pods)...),
			figure.Info(c.name+": requests to each instance", float64(c.phase.orders+c.phase.polls)/float64(pods), "requests"),
			figure.Info(c.name+": passes per object", c.phase.passes/float64(r.options.Objects), "passes"),
			figure.Info(c.name+": operator's processor time per pod", figure.Milliseconds(c.phase.operator, pods), "ms"))
	}
	all = append(all,
		count("idle: ", r.idle.phase, audit.Write, figure.AtMost(0)),
		count("idle: ", r.idle.phase, audit.Read, figure.AtMost(0)),
		figure.Info("idle: requests to all instances", float64(r.idle.orders+r.idle.polls), "requests"),
		figure.HasGoal("restart: every object reconciled within", r.restart.settled.Seconds(), "s", figure.AtMost(settledWithin), load(r.restart.usage)),
		count("restart: ", r.restart.phase, audit.Write, figure.AtMost(0)),
		figure.Info("memory without pods", figure.MiB(r.without.resident), "MiB", heap(r.without)),
		figure.Info("memory with the pods", figure.MiB(r.with.resident), "MiB", heap(r.with)),
		figure.Info("memory after the idle time", figure.MiB(r.settled.resident), "MiB", heap(r.settled)),
		figure.Info("memory per pod", float64(r.settled.resident-r.without.resident)/float64(pods)/(1<<10), "KiB"))
	return named(fmt.Sprintf("%d objects: ", r.options.Objects), all)
}
