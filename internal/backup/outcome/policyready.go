package outcome

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/kube/conditioncheck"
)

// readyChecks are the checks of a policy's condition Ready: whether it has targets, and these have
// their backups.
var readyChecks = []conditioncheck.Check[*policyView]{
	policySuspended, targetNotFound, nothingSelected, backupFailing, backupPending, gateNotDeclared, everyTargetBackedUp,
}

// policyView is a policy with its targets, and the backups of each target by its name.
type policyView struct {
	policy  *v1alpha1.NginxBackupPolicy
	targets []plan.Target
	backups map[string][]*v1alpha1.NginxBackup
}

func newPolicyView(p *v1alpha1.NginxBackupPolicy, targets []plan.Target, backups []*v1alpha1.NginxBackup) *policyView {
	v := &policyView{policy: p, targets: targets, backups: map[string][]*v1alpha1.NginxBackup{}}
	for _, b := range backups {
		v.backups[b.Spec.Target.Name] = append(v.backups[b.Spec.Target.Name], b)
	}
	return v
}

func policySuspended(v *policyView) *conditioncheck.Verdict {
	if !plan.Suspended(v.policy) {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonSuspended, "No backups are taken or deleted while spec.suspend is true")
}

func targetNotFound(v *policyView) *conditioncheck.Verdict {
	if len(v.targets) > 0 || v.policy.Spec.Target == nil {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonNoTargets, fmt.Sprintf(
		"There is no NginxOperator %s in this namespace: create it, or change spec.target", v.policy.Spec.Target.Name))
}

func nothingSelected(v *policyView) *conditioncheck.Verdict {
	if len(v.targets) > 0 {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonNoTargets,
		"The selector matches no NginxOperator of this namespace: label one, or change spec.selector")
}

// backupFailing reports the first target with a backup that fails, and what that delays.
func backupFailing(v *policyView) *conditioncheck.Verdict {
	for _, t := range v.targets {
		name, backups := t.Nginx.Name, v.backups[t.Nginx.Name]
		c := firstFailing(backups)
		if c == nil {
			continue
		}
		if plan.BlocksRollout(v.policy, t, backups) {
			name += ", whose rollout waits for a backup"
		}
		return conditioncheck.False(v1alpha1.ReasonBackupFailing, fmt.Sprintf("%s: %s: %s", name, c.Reason, c.Message))
	}
	return nil
}

func firstFailing(backups []*v1alpha1.NginxBackup) *metav1.Condition {
	for _, b := range backups {
		// A backup that was found in the store is not one that the policy has to create.
		if c := Failing(b); c != nil && !plan.Written(b) {
			return c
		}
	}
	return nil
}

func backupPending(v *policyView) *conditioncheck.Verdict {
	waiting := 0
	for _, t := range v.targets {
		if plan.Waiting(v.policy, t, v.backups[t.Nginx.Name]) {
			waiting++
		}
	}
	if waiting == 0 {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonBackupPending, fmt.Sprintf(
		"%d of %d targets %s waiting for a backup", waiting, len(v.targets), plural(waiting, "is", "are")))
}

// gateNotDeclared reports the first target whose rollouts do not wait for a backup.
func gateNotDeclared(v *policyView) *conditioncheck.Verdict {
	for _, t := range v.targets {
		if gate := plan.GateNotDeclared(v.policy, t); gate != "" {
			return conditioncheck.False(v1alpha1.ReasonGateNotDeclared, fmt.Sprintf(
				"Rollouts of %s do not wait for a backup: add %s to spec.rollout.gates of that NginxOperator, or select others", t.Nginx.Name, gate))
		}
	}
	return nil
}

func everyTargetBackedUp(*policyView) *conditioncheck.Verdict {
	return conditioncheck.True(v1alpha1.ReasonUpToDate, "Every target has its backups")
}
