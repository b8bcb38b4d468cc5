package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
	"example.com/nginx-operator/test/nextrelease"
)

const (
	upgradedObjects = 50
	// upgradedRate is the rate of requests to all objects together, per second.
	upgradedRate = 300
	// upgradedWindow is how long the new operator is watched after it became the leader.
	upgradedWindow = 30 * time.Second
	// rolloutsCaused is the number of objects that users roll out with the next release.
	rolloutsCaused = 5
	// defaultImageVariable is the operator's environment variable with the nginx image for specs
	// without one.
	defaultImageVariable = "RELATED_IMAGE_NGINX"
)

// upgradeBench is a fleet under load whose operator is replaced.
type upgradeBench struct {
	*bench
	cluster *cluster
	n       int
	// own and next are the releases of the operator.
	own, next release
}

// release is how a release of the operator is deployed.
type release struct{ image, defaultImage string }

// measureOperatorUpgrade replaces the operator by the next release, which would create different
// pods for every spec, and goes back. All applications are under load.
func measureOperatorUpgrade(ctx context.Context, s *session) ([]figure.Figure, error) {
	u, err := s.upgradeBench(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.createAll(ctx); err != nil {
		return nil, err
	}
	options, err := u.loadOnAll(ctx)
	if err != nil {
		return nil, err
	}
	running, err := u.load(ctx, "load", options)
	if err != nil {
		return nil, err
	}
	figures, failed := u.measure(ctx)
	report, err := running.Stop(ctx)
	if err := errors.Join(failed, err); err != nil {
		return figures, err
	}
	return append(figures, figure.HasGoal(fmt.Sprintf("failed of %d requests", report.Requests), float64(report.Failed), "requests",
		figure.AtMost(0), report.Explain()...)), nil
}

// upgradeBench reads how the operator is deployed, to restore that at the end.
func (s *session) upgradeBench(ctx context.Context) (*upgradeBench, error) {
	c, err := openCluster(ctx)
	if err != nil {
		return nil, err
	}
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	u := &upgradeBench{bench: b, cluster: c, n: s.count(upgradedObjects)}
	deployment, err := c.deployment(ctx)
	if err != nil {
		return nil, err
	}
	u.own.image = deployment.Spec.Template.Spec.Containers[0].Image
	for _, e := range deployment.Spec.Template.Spec.Containers[0].Env {
		if e.Name == defaultImageVariable {
			u.own.defaultImage = e.Value
		}
	}
	if u.own.defaultImage == "" {
		return nil, fmt.Errorf("the operator's Deployment has no variable %s", defaultImageVariable)
	}
	u.next = release{setting("E2E_NEXT_OPERATOR_IMAGE", "localhost/nginx-operator:next"), b.images[0]}
	s.atEnd(func(ctx context.Context) error {
		deployment, err := c.deployment(ctx)
		if err != nil || deployment.Spec.Template.Spec.Containers[0].Image == u.own.image {
			return err
		}
		_, err = c.replaceOperator(ctx, u.own.patch())
		return err
	})
	return u, nil
}

// patch returns the patch that deploys the release.
func (r release) patch() client.Patch {
	containers := []map[string]any{{
		"name": operatorName, "image": r.image, "env": []corev1.EnvVar{{Name: defaultImageVariable, Value: r.defaultImage}},
	}}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
	if err != nil {
		panic("strings are always JSON: " + err.Error())
	}
	return client.RawPatch(types.StrategicMergePatchType, text)
}

// object returns the i-th object of the fleet: it has one or two replicas. The first objects
// declare an image, the others use the operator's default.
func (u *upgradeBench) object(i int) *v1alpha2.NginxOperator {
	nginx := fleet.Object(u.namespace, i)
	nginx.Spec = spec(int32(1+i%2), u.newest(), site.Site{}.Files("0"))
	if i >= rolloutsCaused {
		nginx.Spec.Image = nil
	}
	return nginx
}

func (u *upgradeBench) createAll(ctx context.Context) error {
	u.progress("operator-upgrade: waiting for %d NginxOperators in namespace %s to be ready", u.n, u.namespace)
	ctx, cancel := context.WithTimeoutCause(ctx, u.patience, fmt.Errorf("not ready within %s", u.patience))
	defer cancel()
	if err := fleet.Each(ctx, u.n, func(i int) error { return u.client.Create(ctx, u.object(i)) }); err != nil {
		return err
	}
	if err := fleet.Await(ctx, u.client, u.namespace, u.n, ready); err != nil {
		return err
	}
	f := &sharedFleet{cluster: u.cluster, namespace: u.namespace, n: u.n}
	return f.settle(ctx)
}

// loadOnAll returns the options for load on every object, with and without keepalive.
func (u *upgradeBench) loadOnAll(ctx context.Context) (load.Options, error) {
	const answer = "revision={revision} {method}\n"
	options := load.Options{
		Host: site.Host, Rate: upgradedRate, RevisionHeader: site.RevisionHeader, Revisions: []string{"0"},
		Clients: []load.Clients{{KeepAlive: true, Expect: answer}, {Expect: answer}},
	}
	for i := range u.n {
		address, err := u.address(ctx, u.object(i), site.Port)
		if err != nil {
			return options, err
		}
		options.Targets = append(options.Targets, address)
	}
	return options, nil
}

// measure replaces the operator four times.
func (u *upgradeBench) measure(ctx context.Context) ([]figure.Figure, error) {
	before, err := u.allPods(ctx)
	if err != nil {
		return nil, err
	}
	figures := []figure.Figure{figure.Info("objects", float64(u.n), "objects"), figure.Info("pods", float64(len(before)), "pods")}
	for _, step := range []struct {
		name    string
		release release
		then    func(context.Context) ([]figure.Figure, error)
	}{
		{"upgrade", u.next, u.changeConfiguration},
		{"downgrade", u.own, nil},
		{"second upgrade", u.next, func(ctx context.Context) ([]figure.Figure, error) {
			return u.causeRollouts(ctx, before)
		}},
		{"downgrade with pods of both", u.own, nil},
	} {
		found, err := u.replace(ctx, step.name, step.release)
		figures = append(figures, found...)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", step.name, err)
		}
		if step.then == nil {
			continue
		}
		found, err = step.then(ctx)
		figures = append(figures, found...)
		if err != nil {
			return figures, fmt.Errorf("after the %s: %w", step.name, err)
		}
	}
	return figures, nil
}

// allPods returns the pods of all objects, by UID.
func (u *upgradeBench) allPods(ctx context.Context) (map[types.UID]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := u.client.List(ctx, list, client.InNamespace(u.namespace), client.HasLabels{naming.LabelApplication})
	all := map[types.UID]corev1.Pod{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			all[pod.UID] = pod
		}
	}
	return all, err
}

// replace deploys a release and measures what that does to applications that are not changed.
func (u *upgradeBench) replace(ctx context.Context, name string, r release) ([]figure.Figure, error) {
	before, err := u.allPods(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	u.progress("operator-upgrade: %s to %s, default image %s", name, r.image, r.defaultImage)
	patient, cancel := context.WithTimeoutCause(ctx, u.patience, fmt.Errorf("the new operator does not lead within %s", u.patience))
	defer cancel()
	leader, err := u.cluster.replaceOperator(patient, r.patch())
	if err != nil {
		return nil, err
	}
	led := time.Now()
	u.progress("operator-upgrade: %s leads, observing for %s", leader, upgradedWindow)
	if err := pause(ctx, upgradedWindow); err != nil {
		return nil, err
	}
	requests, err := u.cluster.requests(start, time.Time{})
	if err != nil {
		return nil, err
	}
	after, err := u.allPods(ctx)
	if err != nil {
		return nil, err
	}
	own := audit.In(u.namespace, requests[audit.Write])
	restarted, gone := compare(before, after)
	return []figure.Figure{
		figure.Info(name+": until the new operator led", led.Sub(start).Seconds(), "s"),
		figure.HasGoal(name+": writes about these objects", float64(len(own)), "requests", figure.AtMost(0), audit.Tally(own)...),
		figure.Info(name+": all writes of the operator, including other objects", float64(len(requests[audit.Write])), "requests",
			audit.Tally(requests[audit.Write])...),
		figure.HasGoal(name+": containers restarted and pods replaced", float64(restarted+gone), "pods", figure.AtMost(0)),
	}, nil
}

// compare returns how often containers were restarted, and how many pods are gone.
func compare(before, after map[types.UID]corev1.Pod) (restarted, gone int) {
	for uid, pod := range before {
		now, alive := after[uid]
		if !alive {
			gone++
			continue
		}
		restarted += restartsOf(&now) - restartsOf(&pod)
	}
	return restarted, gone
}

func restartsOf(pod *corev1.Pod) int {
	n := 0
	for _, s := range pod.Status.ContainerStatuses {
		n += int(s.RestartCount)
	}
	return n
}

// changeConfiguration makes a configuration go live with the next operator and the instance
// managers of the current release.
func (u *upgradeBench) changeConfiguration(ctx context.Context) ([]figure.Figure, error) {
	before, err := u.allPods(ctx)
	if err != nil {
		return nil, err
	}
	nginx := u.object(u.n - 1)
	files := site.Site{}.Files("0")
	files["more.conf"] = "# a change\n"
	start := time.Now()
	if err := u.edit(ctx, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
		return nil, err
	}
	if err := u.await(ctx, nginx, "the configuration is live", live(nginxconf.Revision(files))); err != nil {
		return nil, err
	}
	took := time.Since(start)
	after, err := u.allPods(ctx)
	restarted, gone := compare(before, after)
	return []figure.Figure{
		figure.Info("upgrade: time until a configuration is live in pods of the previous release", took.Seconds(), "s"),
		figure.HasGoal("upgrade: containers restarted and pods replaced by this configuration", float64(restarted+gone), "pods", figure.AtMost(0)),
	}, err
}

// causeRollouts rolls out some objects as users would, which brings the next instance manager, and
// checks all others.
func (u *upgradeBench) causeRollouts(ctx context.Context, before map[types.UID]corev1.Pod) ([]figure.Figure, error) {
	brought := 0
	caused := map[string]bool{}
	for i := range min(rolloutsCaused, u.n) {
		nginx := u.object(i)
		caused[nginx.Name] = true
		if err := u.edit(ctx, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("once more") }); err != nil {
			return nil, err
		}
		if err := u.ready(ctx, nginx); err != nil {
			return nil, err
		}
		taken, err := u.hasNext(ctx, nginx)
		if err != nil {
			return nil, err
		}
		if taken {
			brought++
		}
	}
	for uid, pod := range before {
		if caused[pod.Labels[naming.LabelApplication]] {
			delete(before, uid)
		}
	}
	after, err := u.allPods(ctx)
	restarted, gone := compare(before, after)
	return []figure.Figure{
		figure.HasGoal("second upgrade: rollouts by users that included the next instance manager and template", float64(brought), "rollouts",
			figure.AtLeast(float64(len(caused)))),
		figure.HasGoal("second upgrade: containers restarted and pods replaced of all others, since the beginning", float64(restarted+gone), "pods", figure.AtMost(0)),
	}, err
}

// hasNext reports whether an application has the next release's template.
func (u *upgradeBench) hasNext(ctx context.Context, nginx *v1alpha2.NginxOperator) (bool, error) {
	deployment := &appsv1.Deployment{}
	err := u.client.Get(ctx, client.ObjectKey{Namespace: u.namespace, Name: naming.Workload(nginx.Name)}, deployment)
	for _, c := range deployment.Spec.Template.Spec.InitContainers {
		if c.Name != naming.InstallContainer || c.Image != u.next.image {
			continue
		}
		for _, e := range c.Env {
			if e.Name == nextrelease.EnvName && e.Value == nextrelease.Version {
				return true, err
			}
		}
	}
	return false, err
}
