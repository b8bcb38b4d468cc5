package scale

import (
	"fmt"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// Figures returns the results of Limit.
func (r LimitResult) Figures() []figure.Figure {
	var all []figure.Figure
	for _, s := range r.steps {
		all = append(all, s.figures(r.options)...)
	}
	sort := "objects without pods"
	if r.options.Pods {
		sort = fmt.Sprintf("objects with %d pods each", PodsEach)
	}
	for i := range all {
		all[i].Name = sort + ", " + all[i].Name
	}
	kept := 0
	if n := len(r.steps); n > 1 {
		kept = r.steps[n-2].objects
	}
	return append(all, figure.Info(fmt.Sprintf("%s that one operator with %.0f MiB can manage", sort, figure.MiB(r.options.Memory)),
		float64(kept), "objects", fmt.Sprintf("with %d more, %s", r.options.Objects, r.end)))
}

func (s step) figures(o LimitOptions) []figure.Figure {
	figures := []figure.Figure{
		figure.Info("created", figure.Rate(o.Objects, s.create.took), "objects/s", load(s.create.usage)),
		figure.Info("created: operator's processor time per object", figure.Milliseconds(s.create.operator, o.Objects), "ms", s.create.garbage(o.Objects)),
		figure.Info("restart: every object reconciled within", s.restart.settled.Seconds(), "s", load(s.restart.usage)),
		figure.Info("restart: operator's processor time per object", figure.Milliseconds(s.restart.operator, s.objects), "ms", s.restart.garbage(s.objects)),
		count("restart: ", s.restart.phase, audit.Write, figure.AtMost(0)),
		figure.Info("memory at its peak", figure.MiB(s.peak), "MiB"),
	}
	for i := range figures {
		figures[i].Name = fmt.Sprintf("%d: %s", s.objects, figures[i].Name)
	}
	return figures
}
