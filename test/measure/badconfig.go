package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/badconfig"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	badReplicas = 2
	badRate     = 100
	// badPatience bounds the time until a diagnosis. badRecovery is the number of bad
	// configurations between two good ones.
	badPatience = 30 * time.Second
	badRecovery = 20
	// badCases and badSorts are the goals for the size of the corpus.
	badCases, badSorts = 300, 25
)

// badRun has the results for the corpus.
type badRun struct {
	*bench
	nginx   *v1alpha2.NginxOperator
	running *incluster.Load
	// cases is the number of submitted configurations, sorts their sorts, and took the times until
	// each diagnosis in seconds.
	cases int
	sorts map[string]bool
	took  []float64
	// undiagnosed are the cases that were not refused. otherNode are those whose diagnosis lacks
	// something. unrecovered are the good configurations that did not go live.
	undiagnosed, otherNode, unrecovered []string
	placed, places                      int
	good                                int
}

// measureBadConfig submits bad configurations one after the other to an application that serves
// requests.
func measureBadConfig(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	run := &badRun{bench: b, sorts: map[string]bool{}}
	if run.nginx, err = b.create(ctx, "web", spec(badReplicas, b.newest(), badconfig.Good("good-0"))); err != nil {
		return nil, err
	}
	before, err := b.pods(ctx, run.nginx)
	if err != nil {
		return nil, err
	}
	if err := run.startLoad(ctx); err != nil {
		return nil, err
	}
	failed := run.submitAll(ctx, s)
	report, err := run.running.Stop(ctx)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	restarted, gone, err := b.restarts(ctx, run.nginx, before)
	figures := append(run.figures(),
		figure.Info("requests meanwhile", float64(report.Requests), "requests"),
		figure.HasGoal("requests failed meanwhile", float64(report.Failed), "requests", figure.AtMost(0), report.Explain()...),
		figure.HasGoal("containers restarted", float64(restarted), "containers", figure.AtMost(0)),
		figure.HasGoal("pods replaced", float64(gone), "pods", figure.AtMost(0)))
	return figures, errors.Join(failed, err)
}

func (r *badRun) startLoad(ctx context.Context) error {
	address, err := r.address(ctx, r.nginx, badconfig.Port)
	if err != nil {
		return err
	}
	const body = "revision={revision}\n"
	r.running, err = r.load(ctx, "load", load.Options{
		Targets: []string{address}, Rate: badRate, RevisionHeader: site.RevisionHeader, Revisions: []string{"good-0"},
		Clients: []load.Clients{{Count: 2, Expect: body}, {Count: 4, KeepAlive: true, Expect: body}, {Method: "POST", BodyBytes: 1000, KeepAlive: true, Expect: body}},
	})
	return err
}

func (r *badRun) submitAll(ctx context.Context, s *session) error {
	cases := badconfig.All()
	if n := s.count(0); n > 0 {
		// Take a sample of all sorts.
		step := max(1, len(cases)/n)
		var some []badconfig.Case
		for i := 0; i < len(cases); i += step {
			some = append(some, cases[i])
		}
		cases = some
	}
	for i, c := range cases {
		if err := r.submit(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if c.Finder == badconfig.Workers || i%badRecovery == badRecovery-1 || i == len(cases)-1 {
			if err := r.recover(ctx); err != nil {
				return err
			}
			s.progress("badconfig: %d of %d, %d not diagnosed, %d with a wrong diagnosis", i+1, len(cases), len(r.undiagnosed), len(r.otherNode))
		}
	}
	return nil
}

// submit submits a bad configuration, and checks the condition's message.
func (r *badRun) submit(ctx context.Context, c badconfig.Case) error {
	start := time.Now()
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(c.Files) }); err != nil {
		return err
	}
	r.cases++
	r.sorts[c.Sort] = true
	var reported *metav1.Condition
	limited, cancel := context.WithTimeout(ctx, badPatience)
	defer cancel()
	err := r.await(limited, r.nginx, "it is refused", func(n *v1alpha2.NginxOperator) bool {
		reported = meta.FindStatusCondition(n.Status.Conditions, v1alpha2.ConditionConfigValid)
		return reported != nil && reported.Status == metav1.ConditionFalse && reported.ObservedGeneration == n.Generation
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.undiagnosed = append(r.undiagnosed, fmt.Sprintf("%s: after %s: %s", c.Name, badPatience, conditions(r.nginx)))
		return nil
	}
	r.took = append(r.took, time.Since(start).Seconds())
	if c.Want.Place() != "" {
		r.places++
	}
	if err := c.Want.In(reported.Message); err != nil {
		r.otherNode = append(r.otherNode, fmt.Sprintf("%s: %v in: %s", c.Name, err, reported.Message))
	} else if c.Want.Place() != "" {
		r.placed++
	}
	return nil
}

// recover submits a good configuration.
func (r *badRun) recover(ctx context.Context) error {
	r.good++
	name := fmt.Sprintf("good-%d", r.good)
	if err := r.running.Submit(ctx, name); err != nil {
		return err
	}
	files := badconfig.Good(name)
	if err := r.edit(ctx, r.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, 2*badPatience)
	defer cancel()
	if err := r.await(limited, r.nginx, "the good configuration is live", live(nginxconf.Revision(files))); err != nil {
		r.unrecovered = append(r.unrecovered, fmt.Sprintf("%s: %v", name, err))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (r *badRun) figures() []figure.Figure {
	figures := []figure.Figure{
		figure.HasGoal("bad configurations", float64(r.cases), "configurations", figure.AtLeast(badCases)),
		figure.HasGoal("sorts of bad configurations", float64(len(r.sorts)), "sorts", figure.AtLeast(badSorts), slices.Sorted(maps.Keys(r.sorts))...),
		figure.HasGoal("not refused in the condition", float64(len(r.undiagnosed)), "configurations", figure.AtMost(0), r.undiagnosed...),
		figure.HasGoal("refused with a diagnosis that differs from nginx's", float64(len(r.otherNode)), "configurations", figure.AtMost(0), r.otherNode...),
		figure.Info("of which nginx names file and line", float64(r.places), "configurations"),
		figure.HasGoal("of these, the condition does not name file and line", float64(r.places-r.placed), "configurations", figure.AtMost(0)),
		figure.Info("good configurations in between", float64(r.good), "configurations"),
		figure.HasGoal("good configurations that did not go live", float64(len(r.unrecovered)), "configurations", figure.AtMost(0), r.unrecovered...),
	}
	if len(r.took) > 0 {
		figures = append(figures, figure.Info("until the diagnosis, median", median(r.took), "s"),
			figure.Info("until the diagnosis, maximum", slices.Max(r.took), "s"))
	}
	return figures
}
