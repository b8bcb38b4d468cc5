package rollout

import (
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// failure returns why the rollout must not continue.
func (in TemplateInput) failure() (poddiagnosis.Diagnosis, bool) {
	bad := in.badNodes()
	if t := in.unrecoverable(bad); t != nil {
		return in.withNodeNames(*t), true
	}
	if !in.TimedOut && !in.overdue() || in.onlyStuck(bad) {
		return poddiagnosis.Diagnosis{}, false
	}
	return in.late(), true
}

// unrecoverable returns a diagnosis for which waiting is useless, other than of bad nodes; nil if there is none.
func (in TemplateInput) unrecoverable(bad map[string]int) *poddiagnosis.Diagnosis {
	for _, p := range in.New {
		if t := p.Diagnosis; t != nil && bad[p.Node] == 0 && !t.FailAfter.IsZero() && !in.Now.Before(t.FailAfter) {
			return t
		}
	}
	return nil
}

// late returns why there was no progress in time, as far as the pods show.
func (in TemplateInput) late() poddiagnosis.Diagnosis {
	t := poddiagnosis.Diagnosis{
		Reason:  v1alpha2.ReasonProgressDeadlineExceeded,
		Message: fmt.Sprintf("no progress for %d seconds (rollout.progressDeadlineSeconds)", int(in.Deadline.Seconds())),
	}
	var worst *poddiagnosis.Diagnosis
	for _, p := range in.New {
		if p.Diagnosis != nil {
			worst = p.Diagnosis
		}
	}
	switch words := in.notReadyMessage(); {
	case worst != nil:
		t.Reason, t.Message = worst.Reason, in.withNodeNames(*worst).Message+"; "+t.Message
	case in.Refused != "":
		t.Reason, t.Message = v1alpha2.ReasonPodsNotCreated, in.Refused+"; "+t.Message
	case words != "":
		t.Message = words + "; " + t.Message
	}
	return t
}
