package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

const (
	blockedReplicas = 3
	// blockedKubelet bounds the time until a kubelet delivers a changed ConfigMap and a pod has loaded it. The
	// kubelet delivers within its syncFrequency of a minute and the lifetime of its cache.
	blockedKubelet = 150 * time.Second
	// blockedRollout bounds the time until every pod is replaced.
	blockedRollout = 10 * time.Minute
	blockedTable   = "measure_blocked"
)

// blockedRun is an application whose pods the operator does not reach.
type blockedRun struct {
	*bench
	cluster *localCluster
	nginx   *v1alpha2.NginxOperator
	figures []figure.Figure
}

// measureBlocked drops all packets between pods to the port of the instance managers, as a NetworkPolicy of the
// namespace does. Then it changes the configuration and the pod template. Requests to nginx and the kubelets' probes are
// not dropped.
func measureBlocked(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	r := &blockedRun{bench: b, cluster: &localCluster{program: setting("CLUSTER", "bin/cluster")}}
	if r.nginx, err = b.create(ctx, "web", spec(blockedReplicas, b.newest(), site.Site{}.Files("first"))); err != nil {
		return nil, err
	}
	address, err := b.address(ctx, r.nginx, site.Port)
	if err != nil {
		return nil, err
	}
	running, err := b.load(ctx, "load", load.Options{Targets: []string{address}, Rate: 60, Clients: []load.Clients{{Path: "/", Count: 8}, {Path: "/", Count: 8, KeepAlive: true}}})
	if err != nil {
		return nil, err
	}
	err = r.block(ctx)
	if err == nil {
		err = errors.Join(r.steps(ctx), r.unblock(context.WithoutCancel(ctx)))
	}
	if err == nil {
		start := time.Now()
		err = b.ready(ctx, r.nginx)
		r.add(figure.Info("packets pass again → Ready", time.Since(start).Seconds(), "s"))
	}
	report, stopped := running.Stop(ctx)
	r.add(figure.HasGoal("requests failed", float64(report.Failed), "requests", figure.AtMost(0), append([]string{fmt.Sprintf("of %d", report.Requests)}, tallies(report)...)...))
	return r.figures, errors.Join(err, stopped, b.client.Delete(ctx, r.nginx))
}

func (r *blockedRun) add(f figure.Figure) { r.figures = append(r.figures, f) }

// block drops packets that a node forwards to the port. A kubelet's probes are not forwarded.
func (r *blockedRun) block(ctx context.Context) error {
	rules := fmt.Sprintf("nft 'add table inet %[1]s; add chain inet %[1]s forward { type filter hook forward priority -200; }; add rule inet %[1]s forward tcp dport %[2]d drop'",
		blockedTable, instanceapi.Port)
	return r.onEach(ctx, rules)
}

func (r *blockedRun) unblock(ctx context.Context) error {
	return r.onEach(ctx, "nft delete table inet "+blockedTable)
}

func (r *blockedRun) onEach(ctx context.Context, command string) error {
	_, first := r.cluster.on(ctx, "1", command)
	_, second := r.cluster.on(ctx, "2", command)
	return errors.Join(first, second)
}

func (r *blockedRun) steps(ctx context.Context) error {
	if err := r.configuration(ctx); err != nil {
		return err
	}
	return r.rollout(ctx)
}

// configuration changes the configuration. One pod loads it when its kubelet delivers it, and the others after
// rollout.FollowPatience. Requests tell which configuration serves.
func (r *blockedRun) configuration(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(site.Site{}.Files("second")) }); err != nil {
		return err
	}
	if err := r.reported(ctx, start, "a new configuration"); err != nil {
		return err
	}
	first, all, err := r.served(ctx, start, "second")
	r.add(figure.HasGoal("edit → the first pod serves it", first.Seconds(), "s", figure.AtMost(blockedKubelet.Seconds())))
	r.add(figure.HasGoal("edit → all pods serve it", all.Seconds(), "s", figure.AtMost((rollout.FollowPatience + 2*blockedKubelet).Seconds())))
	return err
}

// reported waits until a condition names the port.
func (r *blockedRun) reported(ctx context.Context, start time.Time, what string) error {
	message := ""
	err := r.await(ctx, r.nginx, "a condition names the port", func(n *v1alpha2.NginxOperator) bool {
		c := upToDateOf(n)
		message = c.Message
		return c.Reason == v1alpha2.ReasonInstanceUnreachable && strings.Contains(message, fmt.Sprintf("port %d", instanceapi.Port))
	})
	r.add(figure.HasGoal(what+": edit → the condition says that the port is not reached", time.Since(start).Seconds(), "s", figure.AtMost(60), "condition UpToDate: "+message))
	return err
}

// served waits until every pod answers with a text, and returns the times of the first and the last.
func (r *blockedRun) served(ctx context.Context, start time.Time, text string) (first, all time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, rollout.FollowPatience+2*blockedKubelet)
	defer cancel()
	for {
		pods, err := r.pods(ctx, r.nginx)
		if err != nil {
			return first, all, err
		}
		serving := 0
		for i := range pods {
			body, err := r.cluster.on(ctx, "1", fmt.Sprintf("curl --silent --max-time 2 http://%s:%d/", pods[i].Status.PodIP, site.Port))
			if err == nil && strings.Contains(body, text) {
				serving++
			}
		}
		if serving > 0 && first == 0 {
			first = time.Since(start)
		}
		if serving == blockedReplicas {
			return first, time.Since(start), nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return first, all, fmt.Errorf("%d of %d pods serve it: %w", serving, blockedReplicas, err)
		}
	}
}

// rollout replaces the pods.
func (r *blockedRun) rollout(ctx context.Context) error {
	before, err := r.pods(ctx, r.nginx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.PodTemplate = &v1alpha2.PodTemplate{Annotations: map[string]string{"example.com/rollout": "1"}}
	}); err != nil {
		return err
	}
	if err := r.reported(ctx, start, "rollout"); err != nil {
		return err
	}
	err = r.replaced(ctx, before)
	r.add(figure.Info("rollout: edit → every pod is replaced and ready", time.Since(start).Seconds(), "s"))
	return err
}

// replaced waits until none of the pods of before is left, and the application is ready.
func (r *blockedRun) replaced(ctx context.Context, before []corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, blockedRollout)
	defer cancel()
	for {
		_, gone, err := r.restarts(ctx, r.nginx, before)
		if err != nil {
			return err
		}
		now := &v1alpha2.NginxOperator{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(r.nginx), now); err != nil {
			return err
		}
		if gone == blockedReplicas && now.Status.ReadyReplicas == blockedReplicas && now.Status.Replicas == blockedReplicas {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return fmt.Errorf("%d of %d pods are replaced: %w", gone, blockedReplicas, err)
		}
	}
}
