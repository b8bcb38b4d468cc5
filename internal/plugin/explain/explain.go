// Package explain says why an application is not ready: the chain of causes, and what to do. It is pure.
package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/plugin/view"
)

// Explanation is why an application is as it is.
type Explanation struct {
	// Summary is one sentence.
	Summary string `json:"summary"`
	Ready   bool   `json:"ready"`
	// Causes begin with the one that most likely causes the others.
	Causes []Cause `json:"causes,omitempty"`
	// Pods are not ready.
	Pods []Pod `json:"pods,omitempty"`
	// Forbidden are the resources that the user may not read, and that might tell more.
	Forbidden []string `json:"forbidden,omitempty"`
}

// Cause is one cause.
type Cause struct {
	// Means says it in plain words, and Message in those of the operator.
	Means   string `json:"means"`
	Message string `json:"message,omitempty"`
	// Condition and Reason are those that report it; empty: none does.
	Condition string     `json:"condition,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	// Do is what to do, with Commands.
	Do       string   `json:"do"`
	Commands []string `json:"commands,omitempty"`
}

// Pod is a pod that is not ready.
type Pod struct {
	Name    string `json:"name"`
	Node    string `json:"node,omitempty"`
	Message string `json:"message"`
}

// order is that of the causes: what is earlier causes what is later.
var order = []string{
	v1alpha2.ConditionAccepted, v1alpha2.ConditionCertificatesValid, v1alpha2.ConditionConfigValid,
	v1alpha2.ConditionUpToDate, v1alpha2.ConditionAvailable, v1alpha2.ConditionExposed,
}

// Explain explains an application.
func Explain(a *view.Application) Explanation {
	n := &a.Nginx
	ready := view.Reported(n)
	e := Explanation{Ready: ready != nil && ready.Status == metav1.ConditionTrue}
	name := n.Namespace + "/" + n.Name
	serving := fmt.Sprintf("%d of %d pods serve", n.Status.ReadyReplicas, ptr.Deref(n.Spec.Replicas, 1))
	switch {
	case n.DeletionTimestamp != nil:
		e.Summary = fmt.Sprintf("%s is being deleted; %s.", name, serving)
	case ready == nil:
		e.Summary = fmt.Sprintf("It is unknown whether %s is ready: the operator has not reported on its present spec; %s.", name, serving)
		e.Causes = append(e.Causes, silentOperator(n))
	case e.Ready:
		e.Summary = fmt.Sprintf("%s is ready: %s.", name, serving)
	default:
		e.Summary = fmt.Sprintf("%s is not ready: %s.", name, serving)
	}
	e.Causes = append(e.Causes, causes(n)...)
	e.Causes = append(e.Causes, notes(n)...)
	e.Pods, e.Forbidden = notReady(a.Pods), a.Forbidden
	return e
}

func silentOperator(n *v1alpha2.NginxOperator) Cause {
	return Cause{
		Means: "the operator does not answer",
		Message: fmt.Sprintf("The spec is of generation %d, and the operator has reported on generation %d. It usually reports within a second.",
			n.Generation, n.Status.ObservedGeneration),
		Do: "check whether the operator runs", Commands: commands(n, []string{checkAll}),
	}
}

// causes returns the conditions that are not True, each reason once. What is known to be wrong is before what is not known.
func causes(n *v1alpha2.NginxOperator) []Cause {
	var found []Cause
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, conditionType := range order {
			c := meta.FindStatusCondition(n.Status.Conditions, conditionType)
			if c != nil && c.Status == status && !followsFromWaiting(n, c) && !slices.ContainsFunc(found, func(f Cause) bool { return f.Reason == c.Reason }) {
				found = append(found, causeOf(n, c))
			}
		}
	}
	return found
}

// followsFromWaiting reports whether a condition is as it is only because a rollout has not begun, or is paused: to wait for it
// would not help.
func followsFromWaiting(n *v1alpha2.NginxOperator, c *metav1.Condition) bool {
	return c.Reason == v1alpha2.ReasonConfigPending && (hasReason(n, v1alpha2.ReasonRolloutPaused) || hasReason(n, v1alpha2.ReasonWaitingForGate))
}

func causeOf(n *v1alpha2.NginxOperator, c *metav1.Condition) Cause {
	a, known := advices[c.Reason]
	if !known {
		// A later release of the operator has reasons that this one does not know.
		a = advice{means: fmt.Sprintf("%s is %s (%s)", c.Type, c.Status, c.Reason), do: "do what the message says", commands: []string{seeStatus}}
	}
	if c.Reason == v1alpha2.ReasonConfigRejected && n.Status.ReadyReplicas == 0 {
		a.means = "nginx refuses the configuration, and no pod serves"
	}
	return Cause{
		Means: a.means, Message: c.Message, Condition: c.Type, Reason: c.Reason, Since: &c.LastTransitionTime.Time,
		Do: a.do, Commands: commands(n, a.commands),
	}
}

// notes returns what no condition reports, because the user has asked for it.
func notes(n *v1alpha2.NginxOperator) []Cause {
	var found []Cause
	if n.Spec.Rollout != nil && n.Spec.Rollout.ToRevision != nil {
		found = append(found, Cause{
			Means: fmt.Sprintf("the application is pinned to revision %d, whatever else the spec declares", *n.Spec.Rollout.ToRevision),
			Do:    "unpin it when you want the declared spec back", Commands: commands(n, []string{"kubectl nginx unpin {name}"}),
		})
	}
	if ptr.Deref(n.Spec.Suspend, false) && !hasReason(n, v1alpha2.ReasonSuspended) {
		a := advices[v1alpha2.ReasonSuspended]
		found = append(found, Cause{Means: a.means, Do: a.do, Commands: commands(n, a.commands)})
	}
	return found
}

func hasReason(n *v1alpha2.NginxOperator, reason string) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == reason })
}

// commands completes commands for an application.
func commands(n *v1alpha2.NginxOperator, templates []string) []string {
	complete := make([]string, 0, len(templates))
	for _, t := range templates {
		if t != checkAll {
			t = strings.ReplaceAll(t, "{name}", n.Name) + " -n " + n.Namespace
		}
		complete = append(complete, t)
	}
	return complete
}

// notReady returns the pods that are not ready, and why.
func notReady(pods []corev1.Pod) []Pod {
	var found []Pod
	for i := range pods {
		pod := &pods[i]
		if observe.Ready(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		message := poddiagnosis.NotReady(pod, nil)
		if d := poddiagnosis.Of(pod, nil, ""); d != nil {
			message = d.Message
		}
		found = append(found, Pod{Name: pod.Name, Node: pod.Spec.NodeName, Message: message})
	}
	slices.SortFunc(found, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}
