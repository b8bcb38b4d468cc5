package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

const (
	badNodeReplicas = 4
	badNodeRate     = 60
	// badNodeStays is the time for which the rollout must continue without a rollback. It is longer
	// than the time for which an image pull may fail.
	badNodeStays = 75 * time.Second
	// badNodeRetry is rollout.retry.backoff.initialSeconds.
	badNodeRetry = 10
	// badNodePatience bounds the time until the rollout is complete: a kubelet backs off for up to
	// five minutes before it pulls again.
	badNodePatience = 6 * time.Minute
	badNodeImage    = "localhost/nginx:on-one-node"
)

// nodeImages adds an image to single nodes of the local cluster.
type nodeImages struct{ cluster, image string }

func (i nodeImages) ctr(ctx context.Context, node int, arguments ...string) error {
	arguments = append([]string{"exec", "--node", strconv.Itoa(node), "--", "ctr", "--namespace=k8s.io", "images"}, arguments...)
	if said, err := exec.CommandContext(ctx, i.cluster, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", i.cluster, strings.Join(arguments, " "), err, said)
	}
	return nil
}

// add tags the image with another name on a node.
func (i nodeImages) add(ctx context.Context, node int) error {
	return i.ctr(ctx, node, "tag", "--force", i.image, badNodeImage)
}

// remove removes that name from all nodes.
func (i nodeImages) remove(ctx context.Context) error {
	return errors.Join(i.ctr(ctx, 1, "rm", badNodeImage), i.ctr(ctx, 2, "rm", badNodeImage))
}

// badNodeRun is a rollout of an image that one of two nodes does not have.
type badNodeRun struct {
	*bench
	images nodeImages
	nginx  *v1alpha2.NginxOperator
	// reported is the time until the status reported the problem, and message is its message.
	reported time.Duration
	message  string
	// rolledBack reports whether the rollout was rolled back. healed is the time from when the node
	// got the image until the rollout was complete.
	rolledBack bool
	healed     time.Duration
	report     load.Report
	lowest     int
}

// measureBadNode rolls out an image that one of two nodes has: first with pods on both nodes, so
// that those on the good node become ready, then with pods only on the bad node.
func measureBadNode(ctx context.Context, s *session) ([]figure.Figure, error) {
	var runs []*badNodeRun
	for _, alone := range []bool{false, true} {
		b, err := s.bench(ctx)
		if err != nil {
			return nil, err
		}
		r := &badNodeRun{bench: b, images: nodeImages{setting("CLUSTER", "bin/cluster"), b.newest()}}
		if err := r.images.add(ctx, 1); err != nil {
			return nil, err
		}
		err = r.run(ctx, alone)
		if err = errors.Join(err, r.images.remove(context.WithoutCancel(ctx))); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return append(runs[0].spread(), runs[1].retried()...), nil
}

func (r *badNodeRun) run(ctx context.Context, alone bool) error {
	var err error
	if r.nginx, err = r.create(ctx, "web", r.declared()); err != nil {
		return err
	}
	address, err := r.address(ctx, r.nginx, site.Port)
	if err != nil {
		return err
	}
	running, err := r.load(ctx, "load", load.Options{
		Targets: []string{address}, Rate: badNodeRate, Clients: []load.Clients{{Path: "/", Count: 8}, {Path: "/", Count: 8, KeepAlive: true}},
	})
	if err != nil {
		return err
	}
	watched, err := r.watch(ctx, r.nginx)
	if err != nil {
		return err
	}
	if alone {
		err = r.fail(ctx)
	} else {
		err = r.spoil(ctx)
	}
	var stopped error
	r.lowest, stopped = watched.stop()
	err = errors.Join(err, stopped)
	r.report, stopped = running.Stop(ctx)
	return errors.Join(err, stopped, r.client.Delete(ctx, r.nginx))
}

// declared returns a spec that spreads the pods of a template over the nodes.
func (r *badNodeRun) declared() v1alpha2.NginxOperatorSpec {
	declared := spec(badNodeReplicas, r.newest(), site.Site{}.Files("good"))
	declared.PodTemplate = &v1alpha2.PodTemplate{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, MatchLabelKeys: []string{"pod-template-hash"},
		LabelSelector: &metav1.LabelSelector{MatchLabels: naming.SelectorLabels("web")},
	}}}
	return declared
}

func upToDateOf(n *v1alpha2.NginxOperator) metav1.Condition {
	if c := meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionUpToDate); c != nil && c.ObservedGeneration == n.Generation {
		return *c
	}
	return metav1.Condition{}
}

// spoil rolls the image out with pods on both nodes, and later adds the image to the other node.
func (r *badNodeRun) spoil(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(badNodeImage) }); err != nil {
		return err
	}
	if err := r.await(ctx, r.nginx, "a condition names a node", func(n *v1alpha2.NginxOperator) bool {
		c := upToDateOf(n)
		r.rolledBack = c.Reason == v1alpha2.ReasonRollingBack || c.Reason == v1alpha2.ReasonRolledBack
		r.message = c.Message
		return r.rolledBack || strings.Contains(c.Message, "on node-2") && strings.Contains(c.Message, "ready on node-1")
	}); err != nil {
		return err
	}
	r.reported = time.Since(start)
	if err := pause(ctx, badNodeStays-r.reported); err != nil {
		return err
	}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(r.nginx), r.nginx); err != nil {
		return err
	}
	r.message = upToDateOf(r.nginx).Message
	if reason := upToDateOf(r.nginx).Reason; reason == v1alpha2.ReasonRollingBack || reason == v1alpha2.ReasonRolledBack {
		r.rolledBack = true
		return nil
	}
	return r.heal(ctx)
}

// fail rolls the image out with pods only on the bad node, and adds the image after the rollback.
func (r *badNodeRun) fail(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Image, s.PodTemplate = new(badNodeImage), &v1alpha2.PodTemplate{NodeSelector: map[string]string{corev1.LabelHostname: "node-2"}}
		s.Rollout = &v1alpha2.Rollout{Retry: &v1alpha2.RolloutRetry{Backoff: &v1alpha2.RetryBackoff{InitialSeconds: new(int32(badNodeRetry)), Factor: new(int32(1))}}}
	}); err != nil {
		return err
	}
	err := r.await(ctx, r.nginx, "it is rolled back", func(n *v1alpha2.NginxOperator) bool {
		c := upToDateOf(n)
		r.message = c.Message
		return c.Reason == v1alpha2.ReasonRolledBack
	})
	r.reported, r.rolledBack = time.Since(start), err == nil
	if err != nil {
		return err
	}
	return r.heal(ctx)
}

// heal adds the image to the other node, and waits until the rollout is complete.
func (r *badNodeRun) heal(ctx context.Context) error {
	if err := r.images.add(ctx, 2); err != nil {
		return err
	}
	start := time.Now()
	patient := *r.bench
	patient.patience = badNodePatience
	err := patient.await(ctx, r.nginx, "the rollout is complete", func(n *v1alpha2.NginxOperator) bool { return ready(n) && n.Status.Image == badNodeImage })
	r.healed = time.Since(start)
	return err
}

func (r *badNodeRun) requests(what string) []figure.Figure {
	return []figure.Figure{
		figure.HasGoal(what+": requests failed", float64(r.report.Failed), "requests", figure.AtMost(0), append([]string{fmt.Sprintf("of %d; ready pods at the lowest: %d of %d", r.report.Requests, r.lowest, badNodeReplicas)}, tallies(r.report)...)...),
	}
}

func (r *badNodeRun) spread() []figure.Figure {
	const what = "image on one of two nodes"
	rolledBack := 0
	if r.rolledBack {
		rolledBack = 1
	}
	return append([]figure.Figure{
		figure.HasGoal(what+": edit → the condition names both nodes", r.reported.Seconds(), "s", figure.AtMost(30), "condition UpToDate: "+r.message),
		figure.HasGoal(fmt.Sprintf("%s: rolled back within %.0f s", what, badNodeStays.Seconds()), float64(rolledBack), "times", figure.AtMost(0)),
		figure.Info(what+": the other node gets it → complete, without a retry", r.healed.Seconds(), "s"),
	}, r.requests(what)...)
}

func (r *badNodeRun) retried() []figure.Figure {
	const what = "image not on the only node"
	return append([]figure.Figure{
		figure.Info(what+": edit → rolled back, with the time of the retry", r.reported.Seconds(), "s", "condition UpToDate: "+r.message),
		figure.HasGoal(what+": it gets the image → the retry is complete", r.healed.Seconds(), "s", figure.AtMost(badNodePatience.Seconds())),
	}, r.requests(what)...)
}
