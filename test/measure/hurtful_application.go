package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
)

const (
	// hurtfulPatience bounds the time until a verdict, and the time until the good configuration is
	// live again.
	hurtfulPatience = 20 * time.Second
	// hurtfulAfter is how long an application is watched after the verdict.
	hurtfulAfter = 3 * time.Second
	// hurtfulBefore is how long an application serves requests before it gets the first
	// configuration.
	hurtfulBefore = 5 * time.Second
	// hurtfulPoll is the time between two reads of what the instances have loaded.
	hurtfulPoll = 300 * time.Millisecond
	// hurtfulTimeout is the time after which a request counts as failed.
	hurtfulTimeout = 2 * time.Second
)

// hurtfulRow is the result of one configuration.
type hurtfulRow struct {
	hurtful.Case
	requests, failed int64
	// loaded is the number of pods that loaded it, and crashing the number of pods in
	// CrashLoopBackOff afterwards.
	loaded, restarts, crashing int
	// verdict is the condition's status and reason, and message its message.
	verdict, message string
	took             time.Duration
	recovered        bool
}

func (r hurtfulRow) refused() bool { return r.verdict != "" && r.verdict[:1] == "F" }

// loss returns how many requests may fail.
func (r hurtfulRow) loss() float64 {
	if r.Detection == hurtful.Foreseeable {
		return 0
	}
	return hurtfulLoss
}

func (r hurtfulRow) goal() figure.Goal { return figure.AtMost(r.loss()) }

func (r hurtfulRow) String() string {
	text := fmt.Sprintf("%s, %s: %d of %d requests failed; loaded by %d pods, %d restarts; %s in %.1f s", r.Name, r.Family, r.failed, r.requests, r.loaded, r.restarts, r.verdict, r.took.Seconds())
	if r.crashing > 0 {
		text += fmt.Sprintf("; %d pods in CrashLoopBackOff", r.crashing)
	}
	if !r.recovered {
		text += "; not recovered"
	}
	return text
}

// hurtfulApplication is an application under load. It is replaced if it does not recover.
type hurtfulApplication struct {
	*bench
	name    string
	declare func(*v1alpha2.NginxOperatorSpec)
	made    int
	nginx   *v1alpha2.NginxOperator
	running *incluster.Load
}

// prepare creates the application, unless it exists.
func (l *hurtfulApplication) prepare(ctx context.Context) error {
	if l.nginx != nil {
		return nil
	}
	l.made++
	name := fmt.Sprintf("%s-%d", l.name, l.made)
	declared := spec(hurtfulReplicas, l.newest(), hurtful.Good())
	declared.Resources = &corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(hurtful.MemoryLimit, resource.BinarySI)},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")},
	}
	l.declare(&declared)
	nginx, err := l.create(ctx, name, declared)
	if err != nil {
		return err
	}
	address, err := l.address(ctx, nginx, hurtful.Port)
	if err != nil {
		return err
	}
	get, post := hurtful.Body(http.MethodGet), hurtful.Body(http.MethodPost)
	l.running, err = l.load(ctx, name+"-load", load.Options{
		Targets: []string{address}, Rate: hurtfulRate, Timeout: hurtfulTimeout,
		Clients: []load.Clients{
			{Path: hurtful.Path, Count: 8, Expect: get}, {Path: hurtful.Path, Count: 12, KeepAlive: true, Expect: get},
			{Path: hurtful.Path, Method: http.MethodPost, BodyBytes: 1000, Count: 4, KeepAlive: true, Expect: post}, {Path: hurtful.PagePath, Count: 4},
		},
	})
	if err != nil {
		return err
	}
	l.nginx = nginx
	return pause(ctx, hurtfulBefore)
}

// stop ends the load and deletes the application.
func (l *hurtfulApplication) stop(ctx context.Context) error {
	if l.nginx == nil {
		return nil
	}
	_, err := l.running.Stop(ctx)
	err = errors.Join(err, l.client.Delete(ctx, l.nginx))
	l.nginx, l.running = nil, nil
	return err
}

// run submits a configuration, waits for the verdict, and goes back to the good configuration.
func (l *hurtfulApplication) run(ctx context.Context, c hurtful.Case) (hurtfulRow, error) {
	row := hurtfulRow{Case: c}
	if err := l.prepare(ctx); err != nil {
		return row, err
	}
	before, err := l.pods(ctx, l.nginx)
	if err != nil {
		return row, err
	}
	first, err := l.running.Report(ctx)
	if err != nil {
		return row, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	watch := l.watch(watching, before, l.revision(c.Files))
	err = errors.Join(l.verdict(ctx, &row), l.goBack(ctx, &row))
	stopWatching()
	loaded := watch.result()
	if err != nil {
		return row, err
	}
	last, err := l.running.Report(ctx)
	if err != nil {
		return row, err
	}
	row.requests, row.failed = last.Requests-first.Requests, last.Failed-first.Failed
	if err := l.harm(ctx, &row, before, loaded); err != nil {
		return row, err
	}
	if !row.recovered {
		return row, l.stop(ctx)
	}
	return row, nil
}

// revision returns the revision of files together with the checks that the application declares.
func (l *hurtfulApplication) revision(files map[string]string) string {
	return revision.AddChecksFile(nginxconf.Config{Files: files, Revision: nginxconf.Revision(files)}, &l.nginx.Spec, nil).Revision
}

// verdict submits the configuration, and waits until the condition has a verdict.
func (l *hurtfulApplication) verdict(ctx context.Context, row *hurtfulRow) error {
	start := time.Now()
	if err := l.edit(ctx, l.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(row.Files) }); err != nil {
		return err
	}
	everywhere := live(l.revision(row.Files))
	limited, cancel := context.WithTimeout(ctx, hurtfulPatience)
	defer cancel()
	// Even without a verdict in time, the row gets what the condition says then.
	_ = l.await(limited, l.nginx, "there is a verdict", func(n *v1alpha2.NginxOperator) bool { return rejection(n) != nil || everywhere(n) })
	row.took = time.Since(start)
	if err := pause(ctx, hurtfulAfter); err != nil {
		return err
	}
	if err := l.client.Get(ctx, client.ObjectKeyFromObject(l.nginx), l.nginx); err != nil {
		return err
	}
	condition := rejection(l.nginx)
	if condition == nil {
		condition = meta.FindStatusCondition(l.nginx.Status.Conditions, v1alpha2.ConditionConfigValid)
	}
	if condition != nil {
		row.verdict, row.message = string(condition.Status)+" "+condition.Reason, condition.Message
	}
	return nil
}

// rejection returns the condition that says that the configuration was refused or its canary
// failed; nil: neither.
func rejection(n *v1alpha2.NginxOperator) *metav1.Condition {
	if c := meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionConfigValid); c != nil && c.ObservedGeneration == n.Generation && c.Status == metav1.ConditionFalse {
		return c
	}
	c := meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c != nil && c.ObservedGeneration == n.Generation && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, v1alpha2.ReasonCanaryFailed) {
		return c
	}
	return nil
}

// goBack submits the good configuration.
func (l *hurtfulApplication) goBack(ctx context.Context, row *hurtfulRow) error {
	files := hurtful.Good()
	if err := l.edit(ctx, l.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, hurtfulPatience)
	defer cancel()
	everywhere := live(l.revision(files))
	row.recovered = l.await(limited, l.nginx, "the good configuration is live", func(n *v1alpha2.NginxOperator) bool { return everywhere(n) && ready(n) }) == nil
	return ctx.Err()
}

// harm counts what happened to the pods.
func (l *hurtfulApplication) harm(ctx context.Context, row *hurtfulRow, before []corev1.Pod, loaded map[string]bool) error {
	restarts := map[string]int{}
	for _, pod := range before {
		restarts[string(pod.UID)] = restartsOf(&pod)
	}
	now, err := l.pods(ctx, l.nginx)
	for _, pod := range now {
		if n := restartsOf(&pod) - restarts[string(pod.UID)]; n > 0 {
			row.restarts += n
			loaded[string(pod.UID)] = true
		}
		for _, s := range pod.Status.ContainerStatuses {
			if s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" {
				row.crashing++
			}
		}
	}
	row.loaded = len(loaded)
	return err
}

// loadWatch records which pods load a revision.
type loadWatch struct {
	mu     sync.Mutex
	all    sync.WaitGroup
	loaded map[string]bool
}

// watch polls the instances for what they have loaded until ctx ends.
func (l *hurtfulApplication) watch(ctx context.Context, pods []corev1.Pod, revision string) *loadWatch {
	w := &loadWatch{loaded: map[string]bool{}}
	for _, pod := range pods {
		w.all.Go(func() {
			for ctx.Err() == nil {
				limited, cancel := context.WithTimeout(ctx, hurtfulTimeout)
				status, err := l.instanceStatus(limited, &pod)
				cancel()
				if err == nil && hasLoaded(status, revision) {
					w.mu.Lock()
					w.loaded[string(pod.UID)] = true
					w.mu.Unlock()
				}
				_ = pause(ctx, hurtfulPoll) // the loop checks ctx
			}
		})
	}
	return w
}

// hasLoaded reports whether an instance has loaded a revision, whatever the result was.
func hasLoaded(status instanceapi.Status, revision string) bool {
	for _, r := range status.Revisions {
		if r.Revision == revision && r.Load != "" {
			return true
		}
	}
	return status.Serving == revision
}

func (w *loadWatch) result() map[string]bool {
	w.all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.loaded)
}
