package screen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/view"
)

// List shows applications, those with a problem first.
func (p Printer) List(applications []v1alpha2.NginxOperator, namespaces bool) error {
	if len(applications) == 0 {
		return p.printf("No applications found: kubectl nginx list -A shows those of all namespaces.")
	}
	ByUrgency(applications)
	header := []string{"NAME", "READY", "STATE", "SINCE", "IMAGE", "REVISION", "CONFIG", "AGE"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if p.Wide {
		header = append(header, "MESSAGE")
	}
	t := p.table(header...)
	for i := range applications {
		row := p.listRow(&applications[i])
		if namespaces {
			row = append([]string{applications[i].Namespace}, row...)
		}
		t.row(row...).mark(slices.Index(header, "STATE"), tones[urgency(&applications[i])])
	}
	return t.print()
}

func (p Printer) listRow(a *v1alpha2.NginxOperator) []string {
	s := &a.Status
	state, message, since := "", "", time.Time{}
	if c := view.Reported(a); c != nil {
		state, message, since = c.Reason, c.Message, c.LastTransitionTime.Time
	}
	row := []string{
		a.Name, fmt.Sprintf("%d/%d", s.ReadyReplicas, ptr.Deref(a.Spec.Replicas, 1)), state, p.age(since),
		s.Image, number(s.Revision), configOf(s), p.age(a.CreationTimestamp.Time),
	}
	if p.Wide {
		row = append(row, message)
	}
	return row
}

// ByUrgency sorts applications: those with a problem first.
func ByUrgency(applications []v1alpha2.NginxOperator) {
	slices.SortFunc(applications, func(a, b v1alpha2.NginxOperator) int {
		return cmp.Or(cmp.Compare(urgency(&a), urgency(&b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// tones are those of the urgencies.
var tones = []tone{bad, warning, warning, good}

// urgency orders applications: not ready, unknown or not reconciled yet, waiting, ready.
func urgency(a *v1alpha2.NginxOperator) int {
	c := view.Reported(a)
	switch {
	case c != nil && c.Status == metav1.ConditionFalse:
		return 0
	case c == nil || c.Status == metav1.ConditionUnknown:
		return 1
	case a.Status.WaitingRollout != nil:
		return 2
	}
	return 3
}

// configOf returns the first digits of the configuration, and how many pods serve it.
func configOf(s *v1alpha2.NginxOperatorStatus) string {
	if s.Config == nil || s.Config.Revision == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d/%d)", short(s.Config.Revision), s.Config.LoadedReplicas, s.ReadyReplicas)
}

// short returns the first digits of a hash.
func short(hash string) string { return hash[:min(len(hash), 8)] }

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
