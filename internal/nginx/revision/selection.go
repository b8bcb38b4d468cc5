package revision

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// selectRevision decides which revision runs. requested is the configuration that the spec requests;
// unknown reports whether it cannot be had. Blocked says why the spec, or the revision that rollout.toRevision names, must not
// run.
func (in *Input) selectRevision(requested Configuration, unknown bool) (Selection, Blocked, error) {
	s, blocked, err := in.request(requested, unknown)
	if err != nil {
		return s, blocked, err
	}
	s.Run = s.Requested
	undisturbed := s.Mode
	for _, decide := range []func(*Selection) error{in.rollBackIfFailed, in.rollBackAbandonedRollout, in.waitToBegin} {
		if err = decide(&s); err != nil || s.Mode != undisturbed {
			break
		}
	}
	s.Paused = in.pauses(&s)
	if s.Run.Config.Revision == requested.Revision {
		// The same files; the requested ones know where they come from.
		s.Run.Config = requested
	}
	return s, blocked, err
}

// request returns a selection with the revision that the spec requests.
func (in *Input) request(requested Configuration, unknown bool) (s Selection, blocked Blocked, err error) {
	s.Mode = Normal
	if s.Requested, err = in.requestedRevision(requested, unknown); err != nil {
		return s, blocked, err
	}
	number := ptr.Deref(in.rolloutSpec().ToRevision, 0)
	switch {
	case in.Invalid != "":
		blocked = Blocked{Reason: v1alpha2.ReasonInvalidSpec, Message: in.Invalid + ". The pods keep the last template and configuration"}
		if good := in.State.History.LastGood(""); good != nil {
			s.Requested, err = in.recorded(good)
		}
	case number > 0:
		blocked, err = in.pin(&s, number)
	}
	if err != nil {
		return s, blocked, err
	}
	s.Attempt, err = history.Attempt(s.Requested.Inputs, s.Requested.Config.Revision, in.Nginx.Spec.Rollout)
	return s, blocked, err
}

// pin requests the revision that rollout.toRevision names, or the last good one if it must not run.
func (in *Input) pin(s *Selection, number int64) (blocked Blocked, err error) {
	if pinned := in.State.History.Numbered(number); pinned != nil {
		if s.Requested, err = in.recorded(pinned); err != nil {
			return blocked, err
		}
		s.Mode, s.PinnedTo = Pinned, pinned.Number
		_, undeclared := podtemplate.WithoutUndeclared(s.Requested.Spec.PodTemplate, in.Options.Claims...)
		if len(undeclared) == 0 || pinned == in.State.History.LastGood("") {
			return blocked, nil
		}
		blocked = Blocked{
			Reason:  v1alpha2.ReasonInvalidSpec,
			Message: fmt.Sprintf("rollout.toRevision is %d, in which %s: set it to another revision, or unset it", number, undeclared[0]),
		}
	} else {
		blocked = in.revisionNotFound(number)
	}
	if good := in.State.History.LastGood(""); good != nil {
		s.Mode, s.PinnedTo = Pinned, good.Number
		s.Requested, err = in.recorded(good)
	}
	return blocked, err
}

// rollBackIfFailed selects the last good revision if the requested one failed.
func (in *Input) rollBackIfFailed(s *Selection) error {
	failed := in.State.History.Named(s.Requested.Name)
	if failed == nil || failed.Failure.Attempt != s.Attempt {
		return nil
	}
	if in.onFailure() == v1alpha2.OnFailureHold {
		s.Mode, s.Failure = Held, &failed.Failure
		return nil
	}
	good := in.State.History.LastGood(s.Requested.Name)
	retry := in.retry(failed, s.Attempt)
	if good == nil || retry != nil && !in.Now.Before(retry.At) {
		return nil
	}
	run, err := in.recorded(good)
	if err != nil {
		return err
	}
	s.Mode, s.Run, s.RolledBackTo, s.Failure, s.Retry = RolledBack, run, good.Number, &failed.Failure, retry
	return nil
}

// rollBackAbandonedRollout selects the last good revision while pods remain of a rollout that was given up before it
// had proven itself. The Deployment controller would otherwise make room for the new pods among those
// that serve.
func (in *Input) rollBackAbandonedRollout(s *Selection) error {
	live := in.State.LiveTemplate()
	good := in.State.History.LastGood(s.Requested.Name)
	if live == "" || live == s.Requested.Hash || good == nil || !in.serves(good.Template) {
		return nil
	}
	leftovers := in.leftovers(s.Requested.Hash)
	if !in.isUnproven(live) && (live != good.Template || len(leftovers) == 0) {
		return nil
	}
	run, err := in.recorded(good)
	if err != nil {
		return err
	}
	s.Mode, s.Run, s.Leftovers = InterimRollback, run, leftovers
	return nil
}

// isUnproven reports whether the rollout of a template was given up before one of its pods had proven
// itself, or after it had failed.
func (in *Input) isUnproven(template string) bool {
	for i := range in.State.History {
		if r := &in.State.History[i]; r.Template == template && (r.State == history.StateGood || r.Stage == history.Rolling) {
			return false
		}
	}
	return true
}

// leftovers returns the names of pods of templates that are not requested and have never been good.
func (in *Input) leftovers(requested string) []string {
	var names []string
	for i := range in.State.Pods {
		pod := &in.State.Pods[i]
		template := observe.TemplateOf(pod)
		if pod.DeletionTimestamp == nil && template != requested && !in.State.History.HasBeenGood(template) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// serves reports whether a pod of a template is ready.
func (in *Input) serves(template string) bool {
	return slices.ContainsFunc(in.State.Pods, func(pod corev1.Pod) bool {
		return observe.Ready(&pod) && observe.TemplateOf(&pod) == template
	})
}

func (in *Input) rolloutSpec() v1alpha2.Rollout {
	return ptr.Deref(in.Nginx.Spec.Rollout, v1alpha2.Rollout{})
}

func (in *Input) onFailure() v1alpha2.OnFailure {
	if in.rolloutSpec().OnFailure == v1alpha2.OnFailureHold {
		return v1alpha2.OnFailureHold
	}
	return v1alpha2.OnFailureRollback
}

func (in *Input) revisionNotFound(number int64) Blocked {
	var known []string
	for _, r := range in.State.History {
		if r.State == history.StateGood {
			known = append(known, fmt.Sprint(r.Number))
		}
	}
	fix := "no revision has been good yet: unset it"
	if len(known) > 0 {
		fix = fmt.Sprintf("set it to one of %s, or unset it", strings.Join(known, ", "))
	}
	return Blocked{
		Reason:  v1alpha2.ReasonRevisionNotFound,
		Message: fmt.Sprintf("rollout.toRevision is %d, but the history has no such revision; %s", number, fix),
	}
}
