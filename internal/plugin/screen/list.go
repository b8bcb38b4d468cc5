package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
)

// List shows applications, those with a problem first.
func List(w io.Writer, applications []v1alpha2.NginxOperator, namespaces bool, now time.Time) error {
	if len(applications) == 0 {
		_, err := fmt.Fprintln(w, "No applications found: kubectl nginx list -A shows those of all namespaces.")
		return err
	}
	slices.SortFunc(applications, func(a, b v1alpha2.NginxOperator) int {
		return cmp.Or(cmp.Compare(urgency(&a), urgency(&b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	header := []string{"NAME", "READY", "STATE", "SINCE", "IMAGE", "REVISION", "CONFIG", "AGE"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := newTable(w, header...)
	for i := range applications {
		row := listRow(&applications[i], now)
		if namespaces {
			row = append([]string{applications[i].Namespace}, row...)
		}
		t.row(row...)
	}
	return t.flush()
}

func listRow(a *v1alpha2.NginxOperator, now time.Time) []string {
	s := &a.Status
	state, since := "", time.Time{}
	if c := reported(a); c != nil {
		state, since = c.Reason, c.LastTransitionTime.Time
	}
	return []string{
		a.Name, fmt.Sprintf("%d/%d", s.ReadyReplicas, ptr.Deref(a.Spec.Replicas, 1)), state, age(now, since),
		s.Image, number(s.Revision), configOf(s), age(now, a.CreationTimestamp.Time),
	}
}

// urgency orders applications: not ready, unknown or not reconciled yet, waiting, ready.
func urgency(a *v1alpha2.NginxOperator) int {
	c := reported(a)
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

// reported returns the condition Ready of the present spec; nil if the operator has not reported on it.
func reported(a *v1alpha2.NginxOperator) *metav1.Condition {
	c := meta.FindStatusCondition(a.Status.Conditions, v1alpha2.ConditionReady)
	if c == nil || c.ObservedGeneration != a.Generation {
		return nil
	}
	return c
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
