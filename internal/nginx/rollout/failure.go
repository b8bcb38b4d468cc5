package rollout

import (
	"fmt"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// failure returns why the rollout must not continue.
func (in TemplateInput) failure() (poddiagnosis.Diagnosis, bool) {
	bad := in.badNodes()
	if d := in.unrecoverable(bad); d != nil {
		return in.withNodeNames(*d), true
	}
	timedOut := in.TimedOut && !in.Paused
	if !timedOut && !in.stalled() && !in.overdue() || in.onlyStuck(bad) {
		return poddiagnosis.Diagnosis{}, false
	}
	return in.late(), true
}

// unrecoverable returns a diagnosis for which waiting is useless, other than of bad nodes; nil if there is none.
func (in TemplateInput) unrecoverable(bad map[string]int) *poddiagnosis.Diagnosis {
	for _, p := range in.New {
		if d := p.Diagnosis; d != nil && bad[p.Node] == 0 && !d.FailAfter.IsZero() && !in.Now.Before(in.failAfter(p)) {
			return d
		}
	}
	return nil
}

// failAfter returns when waiting for a pod is useless, by the operator's clock.
func (in TemplateInput) failAfter(p NewPod) time.Time {
	at := p.Diagnosis.FailAfter
	if p.Created.After(in.Now) {
		return in.StartedAt.Add(at.Sub(p.Created))
	}
	return at
}

// late returns why there was no progress in time, as far as the pods show.
func (in TemplateInput) late() poddiagnosis.Diagnosis {
	d := poddiagnosis.Diagnosis{
		Reason:  v1alpha2.ReasonProgressDeadlineExceeded,
		Message: fmt.Sprintf("no progress for %d seconds (rollout.progressDeadlineSeconds)", int(in.Deadline.Seconds())),
	}
	var worst *poddiagnosis.Diagnosis
	for _, p := range in.New {
		if p.Diagnosis != nil {
			worst = p.Diagnosis
		}
	}
	switch message := in.notReadyMessage(); {
	case worst != nil:
		d.Reason, d.Message = worst.Reason, in.withNodeNames(*worst).Message+"; "+d.Message
	case in.Refused != "":
		d.Reason, d.Message = v1alpha2.ReasonPodsNotCreated, in.Refused+"; "+d.Message
	case message != "":
		d.Message = message + "; " + d.Message
	}
	return d
}
