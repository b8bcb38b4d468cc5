package status

import (
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// rolloutPaused says how far the rollout is that rollout.paused stops.
func rolloutPaused(v *view) *verdict {
	s, c := &v.in.Selection, v.rollout
	var progress string
	switch {
	case s.Mode == revision.Waiting && s.Waiting.Paused:
		progress = "The rollout of " + s.Waiting.Revision + " has not begun, because rollout.paused is set; the current pods keep serving" + afterPause(s.Waiting)
	case !s.Paused:
		return nil
	case s.Began != nil:
		updated := v.readyOf(s.Run.Hash)
		progress = fmt.Sprintf("The rollout is paused (rollout.paused): %d of %d pods are up to date, and %s", updated, v.replicas, serveEarlier(v.readyReplicas()-updated))
	case c.Phase == rollout.Testing || c.Phase == rollout.Loading:
		progress = fmt.Sprintf("The rollout is paused (rollout.paused): %d of %d pods serve configuration %s", c.Serving, v.replicas, v.revision)
	default:
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolloutPaused, progress+v.heldBack())
}

// afterPause names the gates that a rollout waits for when the pause is over.
func afterPause(w *revision.WaitingRollout) string {
	if len(w.Gates) == 0 {
		return ""
	}
	return "; then it waits for " + gateNames(w.Gates)
}

func serveEarlier(pods int32) string {
	if pods == 1 {
		return "1 pod of an earlier revision serves"
	}
	return fmt.Sprintf("%d pods of earlier revisions serve", pods)
}

// heldBack is what holds new pods of a paused rollout back; empty if nothing does.
func (v *view) heldBack() string {
	if v.rolledOut() || v.diagnosis == nil {
		return ""
	}
	return "; " + poddiagnosis.MessageWithNodes(*v.diagnosis, v.placed())
}
