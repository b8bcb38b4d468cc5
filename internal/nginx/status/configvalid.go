package status

import (
	"fmt"
	"slices"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// configValidChecks report what the nginx of the pods says about the requested configuration.
var configValidChecks = []check{
	configInvalid, rejectedWithRollout, noConfig, rolloutNotBegun, configRejected, reloadRejected, configAccepted, configPending,
}

func configInvalid(v *view) *verdict {
	if v.in.Blocked.Reason != v1alpha2.ReasonConfigInvalid {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonConfigRejected, v.in.Blocked.Message)
}

func rejectedWithRollout(v *view) *verdict {
	if f := v.refusedWithRollout(); f != "" {
		return falseVerdict(v1alpha2.ReasonConfigRejected, v.withCause(f))
	}
	return nil
}

func noConfig(v *view) *verdict {
	if v.revision != "" {
		return nil
	}
	return unknownVerdict(v1alpha2.ReasonConfigPending, "There is no configuration to test yet")
}

func rolloutNotBegun(v *view) *verdict {
	if s := &v.in.Selection; s.Mode != revision.Waiting || !s.Waiting.NewConfig {
		return nil
	}
	if waits := v.in.Selection.Waiting.Waits; waits != "" {
		return unknownVerdict(v1alpha2.ReasonConfigPending, "The rollout of the configuration has not begun, so nginx has not tested it: "+waits)
	}
	if v.in.Selection.Waiting.Paused {
		return unknownVerdict(v1alpha2.ReasonConfigPending, "The rollout of the configuration has not begun (rollout.paused), so nginx has not tested it")
	}
	return unknownVerdict(v1alpha2.ReasonConfigPending, "The rollout of the configuration waits for a gate (rollout.gates), so nginx has not tested it")
}

func configRejected(v *view) *verdict {
	if v.rollout.Phase != rollout.Rejected {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonConfigRejected, v.withCause(v.refusal())+v.nextRetry())
}

// reloadRejected reports changed files of podTemplate.reloadOn that nginx refused.
func reloadRejected(v *view) *verdict {
	if !v.configTested() {
		return nil
	}
	if refused := v.refusedReload(); refused != "" {
		return falseVerdict(v1alpha2.ReasonConfigRejected, refused)
	}
	return nil
}

func configAccepted(v *view) *verdict {
	if !v.configTested() {
		return nil
	}
	return trueVerdict(v1alpha2.ReasonConfigAccepted, "nginx accepted the configuration"+v.notIncludedFiles())
}

func configPending(v *view) *verdict {
	return unknownVerdict(v1alpha2.ReasonConfigPending, v.pending(v.rollout))
}

// configTested reports whether all pods accepted the configuration.
func (v *view) configTested() bool {
	return v.rollout.Phase == rollout.Settled || v.rollout.Phase == rollout.Loading
}

// refusedWithRollout returns how the pods of a failed rollout refused the requested configuration; empty if they did
// not. What runs now is another one.
func (v *view) refusedWithRollout() string {
	if v.failedWith(v1alpha2.ReasonConfigRejected) {
		return v.in.Selection.Failure.Message
	}
	return ""
}

// refusal returns what nginx says about the requested configuration; empty if it has not refused it.
func (v *view) refusal() string {
	if f := v.refusedWithRollout(); f != "" {
		return f
	}
	if v.rollout.Phase != rollout.Rejected {
		return ""
	}
	if v.rollout.Reverted {
		return "a pod loaded the configuration and rolled it back: " + poddiagnosis.Problems(v.rollout.Problems)
	}
	return "nginx refused the configuration: " + poddiagnosis.Problems(v.rollout.Problems)
}

// nextRetry says when a pod tries again what it rolled back from. What only a test refused is tested again all the
// time.
func (v *view) nextRetry() string {
	switch {
	case v.rollout.Fatal:
		return "; to try it again, change spec.forceRedeploy"
	case v.rollout.Reverted:
		return "; a pod tries it again within 10 minutes"
	}
	return ""
}

// withCause puts the missing or bad certificate before nginx's message about its file.
func (v *view) withCause(refusal string) string {
	if cause := v.badCertificate(refusal); cause != "" {
		return cause + ", so nginx cannot load the configuration: " + refusal
	}
	return refusal
}

// badCertificate returns what is wrong with a certificate whose file nginx complains about; empty if nothing is.
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

// refusedReload names a pod whose nginx refuses changed files of podTemplate.reloadOn; empty if there is none. One
// pod is enough, as with certificates: the kubelets bring the files at different times.
func (v *view) refusedReload() string {
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		instance := v.in.State.Instances[pod.Name]
		if instance == nil || len(instance.ReloadProblems) == 0 || instance.Serving != v.revision {
			continue
		}
		return fmt.Sprintf("nginx refused changed files of a volume of podTemplate.reloadOn: %s; pod %s serves with the files from before, and pods that start now cannot load the configuration: correct the ConfigMap or Secret",
			poddiagnosis.Problems(instance.ReloadProblems), pod.Name)
	}
	return ""
}

// notIncludedFiles names declared files that nginx does not read; empty if there are none.
func (v *view) notIncludedFiles() string {
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

// shown returns the names from an instance that can be names of files.
func shown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !nginxconf.LegalName(name) })
}

// pending says what a test of the configuration waits for.
func (v *view) pending(d rollout.Decision) string {
	switch {
	case len(d.Problems) > 0:
		return "A pod of the new template has to test the configuration; the pods that it replaces refuse it: " + poddiagnosis.Problems(d.Problems)
	case len(d.Unreachable) > 0:
		return v.unreachable()
	case v.replicas == 0:
		return "The application is scaled to zero, so nginx has not tested the configuration"
	case d.Pods == 0:
		return "No pod has started yet, so nginx has not tested the configuration"
	default:
		return "Not every pod has tested the configuration yet"
	}
}
