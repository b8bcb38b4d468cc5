package desired

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// revision is a pod template and the configuration that belongs to it.
type revision struct {
	// name of its ControllerRevision.
	name string
	// spec is what the user declared about it, inputs the hash of that.
	spec   v1alpha2.NginxOperatorSpec
	inputs string
	// template is that of the pods, hash is its hash.
	template *corev1ac.PodTemplateSpecApplyConfiguration
	hash     string
	protocol int
	config   resolved
}

// course is which revision is asked for and which one runs. They differ after a failure, and
// while a rollout waits.
type course struct {
	asked, run revision
	// attempt identifies what is asked for.
	attempt string
	// failure is why the asked one does not run, or is held; nil: it does.
	failure *history.Failure
	// pinned tells that rollout.toRevision asks for it.
	pinned bool
	// waiting is why the asked one does not run yet; nil: it does not wait.
	waiting *Waiting
	// retry is when what failed is tried again; nil: it is not.
	retry *Retry
	// retreating tells that the last good one runs for a moment before the asked one does.
	retreating bool
}

// back tells whether an earlier revision runs in place of the one asked for, which is given up.
func (c *course) back() bool { return c.waiting == nil && c.run.name != c.asked.name }

// held tells whether a failed rollout waits for somebody to look at it.
func (c *course) held() bool { return c.failure != nil && !c.back() }

// chart decides which revision runs. requested is the configuration that the spec asks
// for. When the revision of rollout.toRevision does not exist, blocked says so.
func (in *input) chart(requested resolved, unknown bool) (course, Blocked, error) {
	asked, err := in.askedRevision(requested, unknown)
	if err != nil {
		return course{}, Blocked{}, err
	}
	c := course{asked: asked}
	var blocked Blocked
	if number := ptr.Deref(in.rolloutSpec().ToRevision, 0); number > 0 {
		pinned := in.state.History.Numbered(number)
		if pinned == nil {
			blocked = in.noSuchRevision(number)
			pinned = in.state.History.LastGood("")
		}
		if pinned != nil {
			if c.asked, err = in.recorded(pinned); err != nil {
				return course{}, blocked, err
			}
			c.pinned = true
		}
	}
	if c.attempt, err = history.Attempt(c.asked.inputs, c.asked.config.Revision, in.nginx.Spec.Rollout); err != nil {
		return course{}, blocked, err
	}
	c.run = c.asked
	for _, decide := range []func(*course) error{in.divert, in.retreat, in.await} {
		if err = decide(&c); err != nil || c.failure != nil || c.back() {
			break
		}
	}
	if c.run.config.Revision == requested.Revision {
		// The same files; the requested ones know where they come from.
		c.run.config = requested
	}
	return c, blocked, err
}

// divert lets the last good revision run where the one asked for has failed.
func (in *input) divert(c *course) error {
	refused := in.state.History.Named(c.asked.name)
	if refused == nil || refused.Failure.Attempt != c.attempt {
		return nil
	}
	c.failure = &refused.Failure
	if in.onFailure() == v1alpha2.OnFailureHold {
		return nil
	}
	good := in.state.History.LastGood(c.asked.name)
	c.retry = in.retry(refused, c.attempt)
	if good == nil || c.retry != nil && !in.state.Now.Before(c.retry.At) {
		c.failure, c.retry = nil, nil
		return nil
	}
	run, err := in.recorded(good)
	if err != nil {
		return err
	}
	c.run = run
	return nil
}

// retreat lets the last good revision run for a moment, where another rollout was given up
// before it had proven itself: its pods have to be gone before the next one begins. The
// Deployment controller would make room for the new pods among those that serve.
func (in *input) retreat(c *course) error {
	live := in.state.LiveTemplate()
	good := in.state.History.LastGood(c.asked.name)
	if live == "" || live == c.asked.hash || good == nil || !in.serves(good.Template) {
		return nil
	}
	if !in.unproven(live) && (live != good.Template || len(in.leftovers(c.asked.hash)) == 0) {
		return nil
	}
	run, err := in.recorded(good)
	if err != nil {
		return err
	}
	c.run, c.retreating = run, true
	return nil
}

// unproven tells whether the rollout of a template was given up before a pod of it had
// proven itself, or after it had failed.
func (in *input) unproven(template string) bool {
	for i := range in.state.History {
		if r := &in.state.History[i]; r.Template == template && (r.State == history.Good || r.Stage == history.Rolling) {
			return false
		}
	}
	return true
}

// leftovers are the names of pods of templates that nobody asks for and that have never been good.
func (in *input) leftovers(asked string) []string {
	var names []string
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		template := observe.TemplateOf(pod)
		if pod.DeletionTimestamp == nil && template != asked && !in.state.History.HasBeenGood(template) {
			names = append(names, pod.Name)
		}
	}
	return names
}

func (in *input) serves(template string) bool {
	return slices.ContainsFunc(in.state.Pods, func(pod corev1.Pod) bool {
		return observe.Ready(&pod) && observe.TemplateOf(&pod) == template
	})
}

func (in *input) rolloutSpec() v1alpha2.Rollout {
	return ptr.Deref(in.nginx.Spec.Rollout, v1alpha2.Rollout{})
}

func (in *input) onFailure() v1alpha2.OnFailure {
	if in.rolloutSpec().OnFailure == v1alpha2.OnFailureHold {
		return v1alpha2.OnFailureHold
	}
	return v1alpha2.OnFailureRollback
}

func (in *input) noSuchRevision(number int64) Blocked {
	var known []string
	for _, r := range in.state.History {
		if r.State == history.Good {
			known = append(known, fmt.Sprint(r.Number))
		}
	}
	return Blocked{
		Reason: v1alpha2.ReasonRevisionNotFound,
		Message: fmt.Sprintf("rollout.toRevision is %d, and there is no such revision in the history (%s): name one of these, or unset it",
			number, strings.Join(known, ", ")),
	}
}

// askedRevision is what the spec asks for. Its template is the one that was made of the
// same declarations before, by whatever release of the operator, if the pods have it
// or were to have it.
func (in *input) askedRevision(requested resolved, unknown bool) (revision, error) {
	asked := revision{spec: history.Inputs(&in.nginx.Spec), config: requested}
	var err error
	if asked.inputs, err = history.Hash(asked.spec); err != nil {
		return asked, err
	}
	if failed := in.failedWith(asked.inputs); unknown && failed != nil {
		// While its configuration cannot be had it is still the attempt that has failed.
		asked.config = resolved{Config: nginxconf.Config{Revision: failed.Config}}
	}
	if r := in.kept(asked.inputs); r != nil {
		kept, err := in.recorded(r)
		if err != nil {
			return asked, err
		}
		asked.template, asked.protocol = kept.template, kept.protocol
	} else {
		if asked.template, err = in.podTemplate(); err != nil {
			return asked, err
		}
		asked.protocol = instanceapi.Protocol
	}
	asked.identify(in.nginx.Name)
	return asked, nil
}

// failedWith is the revision of declarations whose rollout has failed; nil: none has.
func (in *input) failedWith(inputs string) *history.Revision {
	for i := range in.state.History {
		if r := &in.state.History[i]; r.Inputs == inputs && r.Failure.Attempt != "" {
			return r
		}
	}
	return nil
}

func (r *revision) identify(application string) {
	r.hash = r.template.Annotations[naming.AnnotationTemplate]
	r.name = naming.Revision(application, history.NameHash(r.hash, r.config.Revision))
}

// kept is the revision whose template stays although this release might make another one
// of the same declarations; nil: there is none.
func (in *input) kept(inputs string) *history.Revision {
	live := in.state.LiveTemplate()
	var kept *history.Revision
	for i := range in.state.History {
		r := &in.state.History[i]
		if r.Inputs != inputs {
			continue
		}
		if r.Template == live {
			kept = r
			break
		}
		if r.Stage != "" || r.State != history.Good {
			kept = r
		}
	}
	if kept == nil || in.state.Renew {
		return nil
	}
	if data, err := kept.Data(); err == nil && data.Protocol < instanceapi.OldestProtocol {
		return nil
	}
	return kept
}

// recorded is a revision of the history.
func (in *input) recorded(r *history.Revision) (revision, error) {
	data, err := r.Data()
	if err != nil {
		return revision{}, err
	}
	template := new(corev1ac.PodTemplateSpecApplyConfiguration)
	if err := json.Unmarshal(data.Template, template); err != nil {
		return revision{}, fmt.Errorf("read the pod template of ControllerRevision %s: %w", r.Name, err)
	}
	return revision{
		name:     r.Name,
		spec:     data.Spec,
		inputs:   r.Inputs,
		template: template,
		hash:     r.Template,
		protocol: data.Protocol,
		config:   resolved{Config: nginxconf.Config{Revision: r.Config, Files: in.state.RecordedFiles[r.Name]}},
	}, nil
}
