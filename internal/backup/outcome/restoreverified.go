package outcome

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/conditioncheck"
)

// verifiedChecks are the checks of a completed restore's condition Verified: whether the application
// serves what was restored.
var verifiedChecks = []conditioncheck.Check[*restoredView]{
	filesNotInBackup, onlyFilesRestored, applicationDeleted, notReportedYet, applicationNotReady, mayBeOutdated, servesAnother, servesRestored,
}

// observationDelay is the time that an operator gets to see that a ConfigMap was restored: until then, the
// application stays Ready with the old configuration. servedDelay is the time that an application
// gets to serve the restored configuration.
const (
	observationDelay = 5 * time.Second
	servedDelay      = time.Minute
)

// restoredView is a completed restore with the application that it has restored.
type restoredView struct {
	restore *v1alpha1.NginxRestore
	// nginx is nil if the application does not exist.
	nginx *v1alpha2.NginxOperator
	// age is the time since the restore completed.
	age time.Duration
}

// Verified returns the status of a restore after a check of what the application serves, and the
// time until the next check if nothing changes; 0 means none is needed.
func Verified(r *v1alpha1.NginxRestore, nginx *v1alpha2.NginxOperator, now time.Time) (status v1alpha1.NginxRestoreStatus, after time.Duration) {
	status = *r.Status.DeepCopy()
	v := &restoredView{restore: r, nginx: nginx, age: now.Sub(restoredAt(r))}
	setVerdict(r, &status.Conditions, v1alpha1.ConditionVerified, conditioncheck.Evaluate(v, verifiedChecks))
	return status, v.outdatedFor()
}

// filesNotInBackup keeps what was found when the restore completed.
func filesNotInBackup(v *restoredView) *conditioncheck.Verdict {
	c := meta.FindStatusCondition(v.restore.Status.Conditions, v1alpha1.ConditionVerified)
	if c == nil || c.Reason != v1alpha1.ReasonFilesNotInBackup {
		return nil
	}
	return conditioncheck.False(c.Reason, c.Message)
}

func onlyFilesRestored(v *restoredView) *conditioncheck.Verdict {
	if !v.filesOnly() {
		return nil
	}
	return conditioncheck.True(v1alpha1.ReasonVerified, "The files were compared with those of the backup")
}

func applicationDeleted(v *restoredView) *conditioncheck.Verdict {
	if v.nginx != nil {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonNotReady, fmt.Sprintf("NginxOperator %s does not exist any more: to restore it, create another NginxRestore", v.restore.Status.Target))
}

func notReportedYet(v *restoredView) *conditioncheck.Verdict {
	if v.ready() != nil {
		return nil
	}
	return notReported()
}

func notReported() *conditioncheck.Verdict {
	return conditioncheck.Unknown(v1alpha1.ReasonNotVerified, "The application has not reported its configuration yet")
}

func applicationNotReady(v *restoredView) *conditioncheck.Verdict {
	ready := v.ready()
	if ready.Status == metav1.ConditionTrue {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonNotReady, fmt.Sprintf("The application is not Ready: %s: %s. Check the conditions of NginxOperator %s", ready.Reason, ready.Message, v.restore.Status.Target))
}

// mayBeOutdated leaves the application the time to observe and to serve what was restored.
func mayBeOutdated(v *restoredView) *conditioncheck.Verdict {
	if v.outdatedFor() == 0 {
		return nil
	}
	return notReported()
}

func servesAnother(v *restoredView) *conditioncheck.Verdict {
	if v.servesBackup() {
		return nil
	}
	return conditioncheck.False(v1alpha1.ReasonServesAnother, fmt.Sprintf(
		"The application is Ready but serves configuration %s. The backup contains %s: if spec.config was changed after the restore, create another NginxRestore to return to the backup", v.served(), strings.Join(slices.Compact(v.backedUp()), " and ")))
}

func servesRestored(v *restoredView) *conditioncheck.Verdict {
	return conditioncheck.True(v1alpha1.ReasonVerified, fmt.Sprintf("The application is Ready and serves configuration %s", v.served()))
}

// filesOnly reports whether the restore can have changed nothing but files of volumes.
func (v *restoredView) filesOnly() bool {
	return v.restore.Status.Source == nil ||
		!slices.ContainsFunc(v.restore.Spec.Items, func(i v1alpha1.RestoreItem) bool { return i != v1alpha1.RestoreContent })
}

// ready returns the condition Ready of the application, or nil if it describes an earlier spec.
func (v *restoredView) ready() *metav1.Condition {
	ready := meta.FindStatusCondition(v.nginx.Status.Conditions, v1alpha2.ConditionReady)
	if ready == nil || ready.ObservedGeneration != v.nginx.Generation {
		return nil
	}
	return ready
}

// outdatedFor returns how long a Ready application may still report what it served before the
// restore, or 0.
func (v *restoredView) outdatedFor() time.Duration {
	if v.filesOnly() || v.nginx == nil {
		return 0
	}
	if ready := v.ready(); ready == nil || ready.Status != metav1.ConditionTrue {
		return 0
	}
	switch {
	case !v.servesBackup():
		return max(0, servedDelay-v.age)
	case !v.renewed():
		return max(0, observationDelay-v.age)
	}
	return 0
}

// renewed reports whether the restore wrote the NginxOperator itself, which its operator has to
// observe before it is Ready again, or wrote nothing but files.
func (v *restoredView) renewed() bool {
	changed := func(kind string) bool {
		return slices.ContainsFunc(v.restore.Status.Changes, func(c v1alpha1.RestoreChange) bool { return c.Kind == kind && c.Action != "None" })
	}
	return changed(v1alpha2.Kind) || !changed("ConfigMap")
}

// served returns the configuration that the application serves.
func (v *restoredView) served() string {
	if c := v.nginx.Status.Config; c != nil {
		return c.StableRevision
	}
	return ""
}

// backedUp returns the configurations in the backup. A backup that was taken during a rollout has
// two; one from before the first rollout has none.
func (v *restoredView) backedUp() []string {
	source := v.restore.Status.Source
	return slices.DeleteFunc([]string{source.ConfigRevision, source.ServedRevision}, func(revision string) bool { return revision == "" })
}

// servesBackup reports whether the application serves a configuration of the backup, as far as the
// backup has any and the restore includes it.
func (v *restoredView) servesBackup() bool {
	backedUp := v.backedUp()
	return len(backedUp) == 0 || slices.Contains(backedUp, v.served()) || !slices.Contains(v.restore.Spec.Items, v1alpha1.RestoreConfiguration)
}
