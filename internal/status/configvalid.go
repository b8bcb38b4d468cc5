package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/rollout"
)

// mostProblems is how many of the things that are wrong with a configuration a
// condition tells: nginx mostly stops at the first.
const mostProblems = 3

// configValid is what the pods' nginx says about the configuration asked for.
func configValid(v *view) judgement {
	if v.in.Blocked.Reason == v1alpha2.ReasonConfigInvalid {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, clip(v.in.Blocked.Message)}
	}
	if v.revision == "" {
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "There is no configuration to test yet"}
	}
	switch d := v.rollout; d.Phase {
	case rollout.Rejected:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, clip("nginx refused the configuration: " + problems(d.Problems))}
	case rollout.Settled, rollout.Loading:
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonConfigAccepted, "nginx accepted the configuration"}
	default:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, clip(v.pending(d))}
	}
}

// pending tells what a test of the configuration waits for.
func (v *view) pending(d rollout.Decision) string {
	switch {
	case len(d.Problems) > 0:
		return "A pod of the new template has to test the configuration; those that are about to be replaced refuse it: " + problems(d.Problems)
	case len(d.Unreachable) > 0:
		return v.silent(d)
	case v.replicas == 0:
		return "No pod is asked for, so nginx has not tested the configuration"
	case d.Pods == 0:
		return "No pod has started yet, so nginx has not tested the configuration"
	default:
		return "Not every pod has tested the configuration yet"
	}
}

// silent names the pods whose instance manager does not answer.
func (*view) silent(d rollout.Decision) string {
	return fmt.Sprintf("The instance manager of pod %s does not answer on port %d: is there a NetworkPolicy that keeps the operator from it?",
		strings.Join(d.Unreachable[:min(len(d.Unreachable), mostProblems)], ", "), instanceapi.Port)
}

// problems are in nginx's words, each with its place.
func problems(all []instanceapi.Problem) string {
	var told []string
	for _, p := range all[:min(len(all), mostProblems)] {
		told = append(told, problem(p))
	}
	if more := len(all) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, "; ")
}

func problem(p instanceapi.Problem) string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.File != "":
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	default:
		return p.Message
	}
}
