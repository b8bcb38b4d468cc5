package status

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
)

// waitingForGate tells what waits for what, and how to let it begin by hand.
func (v *view) waitingForGate(w *desired.Waiting) string {
	gates, annotations := "gate "+w.Gates[0], make([]string, 0, len(w.Gates))
	if len(w.Gates) > 1 {
		gates = "gates " + strings.Join(w.Gates, ", ")
	}
	for _, gate := range w.Gates {
		annotations = append(annotations, v1alpha2.AnnotationGatePrefix+gate+"="+w.Revision)
	}
	return fmt.Sprintf("The rollout of %s waits for %s (rollout.gates); what runs goes on serving. To let it begin now: kubectl annotate --overwrite --namespace=%s nginx %s %s",
		w.Revision, gates, v.in.Nginx.Namespace, v.in.Nginx.Name, strings.Join(annotations, " "))
}

// waitingRollout is the same for other programs; nil: no rollout waits.
func (v *view) waitingRollout() *v1alpha2.WaitingRollout {
	if v.in.Plan == nil || v.in.Plan.Waiting == nil {
		return nil
	}
	w := &v1alpha2.WaitingRollout{
		Revision: v.in.Plan.Waiting.Revision,
		Gates:    v.in.Plan.Waiting.Gates,
		Since:    metav1.NewTime(v.in.Now.Truncate(time.Second)),
	}
	if before := v.in.Nginx.Status.WaitingRollout; before != nil && before.Revision == w.Revision {
		w.Since = before.Since
	}
	return w
}
