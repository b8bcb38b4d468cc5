package rollout

import (
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/trouble"
)

// failure is why the rollout must not go on.
func (in TemplateInput) failure() (trouble.Trouble, bool) {
	bad := in.badNodes()
	if t := in.hopeless(bad); t != nil {
		return in.named(*t), true
	}
	if !in.TimedOut && !in.overdue() || in.onlyStuck(bad) {
		return trouble.Trouble{}, false
	}
	return in.late(), true
}

// hopeless is trouble that waiting cannot end, apart from that of bad nodes; nil: there is none.
func (in TemplateInput) hopeless(bad map[string]int) *trouble.Trouble {
	for _, p := range in.New {
		if t := p.Trouble; t != nil && bad[p.Node] == 0 && !t.GiveUp.IsZero() && !in.Now.Before(t.GiveUp) {
			return t
		}
	}
	return nil
}

// late is why there was no progress in time, as far as the pods tell.
func (in TemplateInput) late() trouble.Trouble {
	t := trouble.Trouble{
		Reason:  v1alpha2.ReasonProgressDeadlineExceeded,
		Message: fmt.Sprintf("no progress for %d seconds (rollout.progressDeadlineSeconds)", int(in.Deadline.Seconds())),
	}
	var worst *trouble.Trouble
	for _, p := range in.New {
		if p.Trouble != nil {
			worst = p.Trouble
		}
	}
	switch words := in.notReady(); {
	case worst != nil:
		t.Reason, t.Message = worst.Reason, in.named(*worst).Message+"; "+t.Message
	case in.Refused != "":
		t.Reason, t.Message = v1alpha2.ReasonPodsNotCreated, in.Refused+"; "+t.Message
	case words != "":
		t.Message = words + "; " + t.Message
	}
	return t
}
