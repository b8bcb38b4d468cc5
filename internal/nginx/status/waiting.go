package status

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/revision"
)

// waitsToBegin says what a rollout waits for: other applications, or closed gates and how to open them by hand.
func waitsToBegin(v *view) *verdict {
	if v.in.Selection.Mode != revision.Waiting {
		return nil
	}
	waiting := v.in.Selection.Waiting
	if waiting.Waits != "" {
		return falseVerdict(v1alpha2.ReasonRolloutInProgress, "The rollout has not begun: "+waiting.Waits)
	}
	gates, annotations := gateNames(waiting.Gates), make([]string, 0, len(waiting.Gates))
	for _, gate := range waiting.Gates {
		annotations = append(annotations, v1alpha2.AnnotationGatePrefix+gate+"="+waiting.Revision)
	}
	return falseVerdict(v1alpha2.ReasonWaitingForGate,
		fmt.Sprintf("The rollout of %s waits for %s (rollout.gates); the current pods keep serving. To start it now: kubectl annotate --overwrite --namespace=%s %s %s",
			waiting.Revision, gates, v.in.Nginx.Namespace, v.resource(), strings.Join(annotations, " ")))
}

func gateNames(names []string) string {
	if len(names) == 1 {
		return "gate " + names[0]
	}
	return "gates " + strings.Join(names, ", ")
}

// resource returns the owner as the arguments of kubectl.
func (v *view) resource() string {
	if v.in.Owner.GVK.Kind == v1alpha2.Kind {
		return "nginx " + v.in.Owner.Name
	}
	return strings.ToLower(v.in.Owner.GVK.Kind) + " " + v.in.Owner.Name
}

// waitingRollout returns the closed gates for other programs; nil if no rollout waits for any.
func (v *view) waitingRollout() *v1alpha2.WaitingRollout {
	if v.in.Selection.Mode != revision.Waiting || v.in.Selection.Waiting.Waits != "" || len(v.in.Selection.Waiting.Gates) == 0 {
		return nil
	}
	w := &v1alpha2.WaitingRollout{
		Revision: v.in.Selection.Waiting.Revision,
		Gates:    v.in.Selection.Waiting.Gates,
		Since:    metav1.NewTime(v.in.Now.Truncate(time.Second)),
	}
	if before := v.in.Nginx.Status.WaitingRollout; before != nil && before.Revision == w.Revision {
		w.Since = before.Since
	}
	return w
}
