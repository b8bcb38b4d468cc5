package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	evidenceReplicas = 3
	evidenceRate     = 60
	// evidenceTime is rollout.canary.durationSeconds, and evidenceDeadline is
	// rollout.progressDeadlineSeconds.
	evidenceTime     = 10
	evidenceDeadline = 30
	// evidenceSlack is how much longer than its limit a verdict may take, in seconds.
	evidenceSlack = 15
)

// evidenceCase is a canary of a configuration.
type evidenceCase struct {
	name string
	// before and location are the directives before the server and in its location.
	before, location string
	// unvisited reports whether there is no traffic.
	unvisited    bool
	onNoEvidence *v1alpha2.OnNoEvidence
	// passes reports whether the configuration must go live. limit is the time after which that is
	// known, in seconds.
	passes bool
	limit  float64
}

func evidenceCases() []evidenceCase {
	return []evidenceCase{
		{name: "access_log off in http, 500 everywhere", before: "access_log off;", location: "return 500;", limit: evidenceTime},
		{name: "503 everywhere", location: "return 503;", limit: evidenceTime},
		{name: "no traffic, onNoEvidence: Pass", unvisited: true, onNoEvidence: new(v1alpha2.OnNoEvidencePass), passes: true, limit: evidenceTime},
		{name: "no traffic, onNoEvidence: Fail", unvisited: true, onNoEvidence: new(v1alpha2.OnNoEvidenceFail), limit: evidenceTime},
		{name: "no traffic, onNoEvidence: Wait", unvisited: true, onNoEvidence: new(v1alpha2.OnNoEvidenceWait), limit: evidenceTime + evidenceDeadline},
		{name: "no traffic, by default", unvisited: true, limit: evidenceTime + evidenceDeadline},
	}
}

// evidenceRun is the result of a canary.
type evidenceRun struct {
	*bench
	evidenceCase
	nginx  *v1alpha2.NginxOperator
	passed bool
	took   time.Duration
	// said are the messages of the condition in order, and events are the events about the canary.
	said, events []string
	report       load.Report
}

// measureCanaryEvidence submits configurations whose canaries give little evidence.
func measureCanaryEvidence(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	wrong := 0
	for i, c := range evidenceCases() {
		r := &evidenceRun{bench: b, evidenceCase: c}
		if err := r.run(ctx, fmt.Sprintf("web-%d", i+1)); err != nil {
			return figures, fmt.Errorf("%s: %w", c.name, err)
		}
		s.progress("%s: passed: %t after %.1f s", c.name, r.passed, r.took.Seconds())
		if r.passed != c.passes {
			wrong++
		}
		figures = append(figures, r.figure())
	}
	return append(figures, figure.HasGoal("canaries with a wrong verdict", float64(wrong), "canaries", figure.AtMost(0))), nil
}

func (r *evidenceRun) run(ctx context.Context, name string) error {
	declared := spec(evidenceReplicas, r.newest(), map[string]string{"site.conf": flawedSite("", "")})
	declared.Rollout = &v1alpha2.Rollout{
		ProgressDeadlineSeconds: new(int32(evidenceDeadline)), FirstAnswers: new(v1alpha2.FirstAnswersIgnore),
		Canary: &v1alpha2.Canary{DurationSeconds: new(int32(evidenceTime)), OnNoEvidence: r.onNoEvidence},
	}
	var err error
	if r.nginx, err = r.create(ctx, name, declared); err != nil {
		return err
	}
	var running *incluster.Load
	if !r.unvisited {
		if running, err = r.visit(ctx, name); err != nil {
			return err
		}
	}
	err = r.verdict(ctx)
	if running != nil {
		var stopped error
		r.report, stopped = running.Stop(ctx)
		err = errors.Join(err, stopped)
	}
	return errors.Join(err, r.readEvents(ctx), r.client.Delete(ctx, r.nginx))
}

func (r *evidenceRun) visit(ctx context.Context, name string) (*incluster.Load, error) {
	address, err := r.address(ctx, r.nginx, site.Port)
	if err != nil {
		return nil, err
	}
	options := load.Options{Targets: []string{address}, Rate: evidenceRate, Clients: []load.Clients{{Path: "/", Count: 8}, {Path: "/", Count: 8, KeepAlive: true}}}
	return r.load(ctx, name+"-load", options)
}

// verdict changes the configuration, and waits until it is live or rolled back.
func (r *evidenceRun) verdict(ctx context.Context) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Config = config(map[string]string{"site.conf": "# another one\n" + flawedSite(r.before, r.location)})
	}); err != nil {
		return err
	}
	err := r.await(ctx, r.nginx, "the canary passes or fails", func(n *v1alpha2.NginxOperator) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionUpToDate)
		if c == nil || c.ObservedGeneration != n.Generation {
			return false
		}
		if len(r.said) == 0 || r.said[len(r.said)-1] != c.Message {
			r.said = append(r.said, c.Message)
		}
		r.passed = c.Status == metav1.ConditionTrue
		return r.passed || c.Reason == v1alpha2.ReasonRolledBack
	})
	r.took = time.Since(start)
	return err
}

// readEvents reads the events about the canary.
func (r *evidenceRun) readEvents(ctx context.Context) error {
	list := &eventsv1.EventList{}
	if err := r.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Name == r.nginx.Name && strings.HasPrefix(e.Reason, "Canary") {
			r.events = append(r.events, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return nil
}

func (r *evidenceRun) figure() figure.Figure {
	verdict := "taken back"
	if r.passed {
		verdict = "live"
	}
	details := []string{fmt.Sprintf("%d of %d requests failed", r.report.Failed, r.report.Requests)}
	for _, message := range r.said {
		details = append(details, "condition UpToDate: "+message)
	}
	return figure.HasGoal(r.name+": edit → "+verdict, r.took.Seconds(), "s", figure.AtMost(r.limit+evidenceSlack), append(details, r.events...)...)
}
