package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

// mostSilent is how many of the pods that do not answer a condition names.
const mostSilent = 3

// configValid is what the pods' nginx says about the configuration asked for.
func configValid(v *view) judgement {
	if v.in.Blocked.Reason == v1alpha2.ReasonConfigInvalid {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, v.in.Blocked.Message}
	}
	if f := v.refusedWithRollout(); f != "" {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, v.withCause(f)}
	}
	if v.revision == "" {
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "There is no configuration to test yet"}
	}
	if v.in.Plan != nil && v.in.Plan.Waiting != nil && v.in.Plan.Waiting.Config {
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, "The rollout of the configuration waits for a gate (rollout.gates), so nginx has not tested it"}
	}
	switch d := v.rollout; d.Phase {
	case rollout.Rejected:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, v.withCause(v.refusal()) + v.nextTry()}
	case rollout.Settled, rollout.Loading:
		if refused := v.refusedReload(); refused != "" {
			return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, refused}
		}
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonConfigAccepted, "nginx accepted the configuration" + v.unreadFiles()}
	default:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonConfigPending, v.pending(d)}
	}
}

// refusedWithRollout is how the pods of a rollout that has failed refused the
// configuration asked for; empty: they did not. What runs now is another one.
func (v *view) refusedWithRollout() string {
	if v.in.Plan == nil || v.in.Plan.Failure == nil || v.in.Plan.Failure.Reason != v1alpha2.ReasonConfigRejected {
		return ""
	}
	return v.in.Plan.Failure.Message
}

// refusal is what nginx says of the configuration asked for; empty: it has not refused it.
func (v *view) refusal() string {
	if f := v.refusedWithRollout(); f != "" {
		return f
	}
	if v.rollout.Phase != rollout.Rejected {
		return ""
	}
	if v.rollout.TakenBack {
		return "a pod loaded the configuration and went back: " + trouble.Problems(v.rollout.Problems)
	}
	return "nginx refused the configuration: " + trouble.Problems(v.rollout.Problems)
}

// nextTry tells when what a pod has gone back from is tried again. What only a test refused is tested all the time.
func (v *view) nextTry() string {
	switch {
	case v.rollout.Fatal:
		return "; to try it again, change spec.forceRedeploy"
	case v.rollout.TakenBack:
		return "; a pod tries it again within 10 minutes"
	}
	return ""
}

// withCause puts the certificate that is missing or bad before nginx's words about its file.
func (v *view) withCause(refusal string) string {
	if cause := v.badCertificate(refusal); cause != "" {
		return cause + ", so nginx cannot load the configuration: " + refusal
	}
	return refusal
}

// badCertificate is what is wrong with a certificate whose file nginx complains about; empty: nothing.
func (v *view) badCertificate(refusal string) string {
	for _, c := range v.sortedTLS() {
		if !strings.Contains(refusal, instanceapi.DirTLS+"/"+c.Name+"/") {
			continue
		}
		if _, problem := v.certificate(c.Name); problem != "" {
			return fmt.Sprintf("tls %s: Secret %s: %s", c.Name, c.SecretName, problem)
		}
	}
	return ""
}

// refusedReload tells of a pod whose nginx refuses changed files of podTemplate.reloadOn; empty: there
// is none. One pod is enough, as with certificates: the kubelets bring the files at different times.
func (v *view) refusedReload() string {
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		instance := v.in.State.Instances[pod.Name]
		if instance == nil || len(instance.ReloadProblems) == 0 || instance.Serving != v.revision {
			continue
		}
		return fmt.Sprintf("nginx refused changed files of a volume of podTemplate.reloadOn: %s; pod %s serves with the files from before, and pods that start now cannot load the configuration: correct the ConfigMap or Secret",
			trouble.Problems(instance.ReloadProblems), pod.Name)
	}
	return ""
}

// unreadFiles tells of files that the user declared and that nginx does not read; empty: there are none.
func (v *view) unreadFiles() string {
	for i := range v.in.State.Pods {
		instance := v.in.State.Instances[v.in.State.Pods[i].Name]
		if instance == nil {
			continue
		}
		for _, r := range instance.Revisions {
			if files := shown(r.Unread); r.Revision == v.revision && len(files) > 0 {
				return fmt.Sprintf("; nginx does not read these files of spec.config: %s: include them in %s, or remove them", some(files), nginxconf.WholeFile)
			}
		}
	}
	return ""
}

// shown are names that an instance tells, as far as they can be names of files.
func shown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !nginxconf.LegalName(name) })
}

// pending tells what a test of the configuration waits for.
func (v *view) pending(d rollout.Decision) string {
	switch {
	case len(d.Problems) > 0:
		return "A pod of the new template has to test the configuration; those that are about to be replaced refuse it: " + trouble.Problems(d.Problems)
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
		strings.Join(d.Unreachable[:min(len(d.Unreachable), mostSilent)], ", "), instanceapi.Port)
}
