package rollout

import (
	"slices"

	"example.com/nginx-operator/internal/instanceapi"
)

// hint adds to the orders what saves pods time.
func (d *Decision) hint(in Input) {
	dryRuns := d.dryRuns(in)
	for name, order := range d.Orders {
		hints := instanceapi.Hints{DryRun: dryRuns[name], First: order.Load == in.Requested && d.Serving == 0 && in.oneFirst()}
		if hints != (instanceapi.Hints{}) {
			d.Hints[name] = hints
		}
	}
}

// oneFirst reports whether one pod loads the configuration before the others.
func (in *Input) oneFirst() bool {
	return len(in.Pods) > 1 && !in.Proven && in.Stable != in.Requested
}

// dryRuns returns the dry runs that pods need not make, by name. A dry run costs as much as the rest of a test, so one pod
// makes it for its template, and the others learn what it used. Pods of old templates make their own, as they may be of
// several.
//
// Before a load, an instance makes its own unless it knows what another one used. So no dry run is lost with the pod that
// was to make it.
func (d *Decision) dryRuns(in Input) map[string]*instanceapi.DryRun {
	newest, _ := byTemplate(in.Pods)
	usage := in.dryRunUsage(newest)
	makes := in.makesDryRun(newest)
	elsewhere := map[string]*instanceapi.DryRun{}
	for _, p := range newest {
		order, ok := d.Orders[p.Name]
		switch {
		case !ok || order.Test != in.Requested:
		case usage != nil, order.Load == "" && p.Name != makes:
			elsewhere[p.Name] = &instanceapi.DryRun{Usage: usage}
		}
	}
	return elsewhere
}

// dryRunUsage returns what a dry run of the requested configuration used; nil if that is unknown.
func (in *Input) dryRunUsage(pods []Pod) *instanceapi.Usage {
	for _, p := range pods {
		if usage := p.revision(in.Requested).Usage; usage != nil {
			return usage
		}
	}
	return nil
}

// makesDryRun returns the name of the pod that makes the dry run: the first one that can answer and has no verdict yet.
func (in *Input) makesDryRun(pods []Pod) string {
	i := slices.IndexFunc(pods, func(p Pod) bool {
		return p.Status != nil && !p.Unreachable && p.verdict(in.Requested) == "" && !p.startsWith(in.Requested)
	})
	if i < 0 {
		return ""
	}
	return pods[i].Name
}
