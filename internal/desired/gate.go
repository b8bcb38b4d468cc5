package desired

import (
	"slices"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// Waiting is a rollout that has not begun, because gates are closed.
type Waiting struct {
	// Revision identifies what is to be rolled out, and Gates are those that are closed, in
	// the order of the spec.
	Revision string
	Gates    []string
	// Config tells that the rollout brings another configuration, which no pod has tested.
	Config bool
}

// await lets what runs go on in place of what is asked for, while gates are closed. What has
// begun is not stopped, and a return to what was good last waits for nobody.
func (in *input) await(c *course) error {
	gates := in.rolloutSpec().Gates
	good := in.state.History.LastGood("")
	if len(gates) == 0 || good == nil || good.Name == c.asked.name || in.begun(&c.asked) {
		return nil
	}
	// With the template in place of what it was made from: another release of the operator
	// may have another one for the same declarations.
	revision, err := history.Attempt(c.asked.hash, c.asked.config.Revision, in.nginx.Spec.Rollout)
	if err != nil {
		return err
	}
	closed := closedGates(in.nginx, gates, revision)
	if len(closed) == 0 {
		return nil
	}
	run, err := in.running(good)
	if err != nil {
		return err
	}
	config := c.asked.config.Revision != "" && c.asked.config.Revision != run.config.Revision
	if c.asked.hash == run.hash && !config {
		return nil
	}
	c.run = run
	if in.state.LiveTemplate() == run.hash {
		c.waiting = &Waiting{Revision: revision, Gates: closed, Config: config}
	}
	return nil
}

// closedGates are the gates that no annotation opens for a revision.
func closedGates(nginx *v1alpha2.NginxOperator, gates []string, revision string) []string {
	return slices.DeleteFunc(slices.Clone(gates), func(gate string) bool {
		return nginx.Annotations[v1alpha2.AnnotationGatePrefix+gate] == revision
	})
}

// begun tells whether the rollout of a revision is under way: the pods have its template, or
// are about to get it, and its configuration is the candidate.
func (in *input) begun(r *revision) bool {
	next := in.state.Config(naming.ConfigMapNext(in.nginx.Name))
	return in.state.LiveTemplate() == r.hash && next != nil && next.Annotations[naming.AnnotationConfig] == r.config.Revision
}

// running is the revision that goes on while another one waits: the one that is being rolled
// out, or else the last good one with the configuration that every pod has served last.
func (in *input) running(good *history.Revision) (revision, error) {
	live := in.state.LiveTemplate()
	for i := range in.state.History {
		if r := &in.state.History[i]; r.Template == live && r.Stage != "" {
			return in.recorded(r)
		}
	}
	run, err := in.recorded(good)
	if err != nil {
		return run, err
	}
	if served, ok := in.served(); ok {
		run.config = served
		run.identify(in.nginx.Name)
	}
	return run, nil
}

// served is what pods start with. Where the candidate is the same, it is that: it tells where
// its files come from.
func (in *input) served() (resolved, bool) {
	stable := in.state.Config(naming.ConfigMap(in.nginx.Name))
	if !observe.Rendered(stable) || !IsControlledBy(stable, in.nginx) {
		return resolved{}, false
	}
	config := resolved{Config: nginxconf.Config{Files: stable.Data, Revision: stable.Annotations[naming.AnnotationConfig]}}
	next := in.state.Config(naming.ConfigMapNext(in.nginx.Name))
	if next != nil && next.Annotations[naming.AnnotationConfig] == config.Revision {
		config.source = next.Annotations[naming.AnnotationConfigSource]
	}
	return config, true
}
