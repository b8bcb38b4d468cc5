package revision

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
)

// WaitingRollout is a rollout that has not begun, and what it waits for.
type WaitingRollout struct {
	// Revision identifies what is to be rolled out.
	Revision string
	// Gates are the closed ones, in the order of the spec.
	Gates []string
	// Waits is that of application.Application.
	Waits string
	// Paused reports whether rollout.paused keeps it from beginning.
	Paused bool
	// NewConfig reports whether the rollout brings another configuration, which no pod has tested.
	NewConfig bool
}

// waitToBegin selects what runs now while gates are closed, rollouts are paused, or others come first. It neither stops a rollout
// that has begun nor delays a return to the last good revision.
func (in *Input) waitToBegin(s *Selection) error {
	gates, paused := in.rolloutSpec().Gates, in.paused()
	good := in.State.History.LastGood("")
	if len(gates) == 0 && in.Waits == "" && !paused || good == nil || good.Name == s.Requested.Name || in.begun(&s.Requested) {
		return nil
	}
	// The template identifies the rollout, not the spec it was made from: another release of the operator
	// may make another template of the same spec.
	id, err := history.Attempt(s.Requested.Hash, s.Requested.Config.Revision, in.Nginx.Spec.Rollout)
	if err != nil {
		return err
	}
	closed := closedGates(in.Nginx, gates, id)
	if len(closed) == 0 && in.Waits == "" && !paused {
		return nil
	}
	return in.keepRunning(s, good, &WaitingRollout{Revision: id, Gates: closed, Waits: in.Waits, Paused: paused})
}

// paused reports whether no rollout may continue, or begin.
func (in *Input) paused() bool { return ptr.Deref(in.rolloutSpec().Paused, false) }

// pauses reports whether the rollout of what runs must not continue. A return to the last good revision does.
func (in *Input) pauses(s *Selection) bool {
	good := in.State.History.LastGood("")
	return in.paused() && good != nil && good.Name != s.Requested.Name && !s.Mode.ReturnsToEarlier() && s.Mode != Held
}

// keepRunning selects what runs now.
func (in *Input) keepRunning(s *Selection, good *history.Revision, waiting *WaitingRollout) error {
	run, err := in.running(good)
	if err != nil {
		return err
	}
	waiting.NewConfig = s.Requested.Config.Revision != "" && s.Requested.Config.Revision != run.Config.Revision
	if s.Requested.Hash == run.Hash && !waiting.NewConfig {
		return nil
	}
	s.Mode, s.Run = WaitingRollback, run
	if in.State.LiveTemplate() == run.Hash {
		s.Mode, s.Waiting = Waiting, waiting
	}
	return nil
}

// closedGates returns the gates that no annotation opens for a rollout.
func closedGates(nginx *v1alpha2.NginxOperator, gates []string, revision string) []string {
	return slices.DeleteFunc(slices.Clone(gates), func(gate string) bool {
		return nginx.Annotations[v1alpha2.AnnotationGatePrefix+gate] == revision
	})
}

// begun reports whether the rollout of a revision is under way: its template is that of the Deployment,
// and its configuration is the candidate.
func (in *Input) begun(r *Revision) bool {
	next := in.State.Config(naming.ConfigMapNext(in.Nginx.Name))
	return in.State.LiveTemplate() == r.Hash && next != nil && next.Annotations[naming.AnnotationConfig] == r.Config.Revision
}

// running returns the revision that continues while another one waits: the one that is being rolled out,
// or else the last good one with the configuration that every pod served last.
func (in *Input) running(good *history.Revision) (Revision, error) {
	live := in.State.LiveTemplate()
	for i := range in.State.History {
		if r := &in.State.History[i]; r.Template == live && r.Stage != "" {
			return in.recorded(r)
		}
	}
	run, err := in.recorded(good)
	if err != nil {
		return run, err
	}
	if served, ok := in.stableConfig(); ok {
		run.Config = served
		run.identify(in.Nginx.Name)
	}
	return run, nil
}

// stableConfig returns the configuration that pods boot from, if it is as the operator wrote it. The source
// of its files is known if the candidate is the same.
func (in *Input) stableConfig() (Configuration, bool) {
	stable := in.State.Config(naming.ConfigMap(in.Nginx.Name))
	if !observe.Rendered(stable) || !metav1.IsControlledBy(stable, in.Nginx) {
		return Configuration{}, false
	}
	config := Configuration{Config: nginxconf.Config{Files: stable.Data, Revision: stable.Annotations[naming.AnnotationConfig]}}
	next := in.State.Config(naming.ConfigMapNext(in.Nginx.Name))
	if next != nil && next.Annotations[naming.AnnotationConfig] == config.Revision {
		config.Source = next.Annotations[naming.AnnotationConfigSourceVersion]
	}
	return config, true
}
