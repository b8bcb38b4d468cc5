package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// newBackup returns the object of a backup that is due. Its name is derived from the policy, the
// target, the reason and the previous backup.
func newBackup(policy *v1alpha1.NginxBackupPolicy, target Target, due dueBackup, before *v1alpha1.NginxBackup, now time.Time) *v1alpha1.NginxBackup {
	previous := ""
	if before != nil {
		previous = before.Name + string(before.UID)
	}
	replicas := strconv.Itoa(int(target.State.Replicas))
	annotations := map[string]string{
		v1alpha1.AnnotationPolicyVersion: policyVersion(policy),
		v1alpha1.AnnotationSequence:      strconv.FormatInt(nextSequence(before, now), 10),
		v1alpha1.AnnotationState:         target.State.Change,
		v1alpha1.AnnotationReplicas:      replicas,
		v1alpha1.AnnotationReason:        due.reason,
	}
	if !due.at.IsZero() {
		annotations[v1alpha1.AnnotationScheduledAt] = due.at.UTC().Format(time.RFC3339)
	}
	parts := []string{
		string(policy.UID), string(target.Nginx.UID), previous, string(due.trigger), target.State.Change, replicas,
		annotations[v1alpha1.AnnotationScheduledAt], policy.Spec.Destination.URL,
	}
	if due.rollout != nil {
		annotations[v1alpha1.AnnotationRollout], annotations[v1alpha1.AnnotationWaitingSince] = due.rollout.Revision, since(due.rollout)
		parts = append(parts, due.rollout.Revision, since(due.rollout))
	}
	var text strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&text, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: policy.Namespace,
			Name:      target.Nginx.Name + "-" + hex.EncodeToString(sum[:5]),
			Labels: map[string]string{
				v1alpha1.LabelPolicy: policy.Name,
				v1alpha1.LabelTarget: target.Nginx.Name,
			},
			Annotations: annotations,
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target:         v1alpha1.TargetReference{Name: target.Nginx.Name},
			Destination:    policy.Spec.Destination,
			IncludeSecrets: policy.Spec.IncludeSecrets,
			ExcludeClaims:  policy.Spec.ExcludeClaims,
			DeletionPolicy: v1alpha1.Retain,
			Trigger:        due.trigger,
			PolicyName:     new(policy.Name),
		},
	}
}

// Good reports whether a backup has completed and its data has not failed verification.
func Good(b *v1alpha1.NginxBackup) bool {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCompleted) && b.Status.CompletionTime != nil &&
		(verified == nil || verified.Status == metav1.ConditionTrue)
}

// Written reports whether the data of a backup was written, by this object or before it existed.
// Such a backup is never written again, whatever its condition.
func Written(b *v1alpha1.NginxBackup) bool {
	return b.Spec.Existing != nil || b.Status.CompletionTime != nil
}

// Lost reports whether the data of a backup has disappeared from its store.
func Lost(b *v1alpha1.NginxBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return c != nil && c.Reason == v1alpha1.ReasonDataMissing
}

// usable reports whether a backup holds, or will hold, what it declares, as far as is known.
func usable(b *v1alpha1.NginxBackup) bool {
	if Lost(b) {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
	return !Written(b) || c == nil || c.Reason != v1alpha1.ReasonDamaged && c.Reason != v1alpha1.ReasonPathInvalid
}

// BackedUpState returns the state that a backup holds: the recorded one, or else the one that it was created
// for.
func BackedUpState(b *v1alpha1.NginxBackup) snapshot.Fingerprint {
	if s := b.Status.Source; s != nil && s.State != "" {
		return snapshot.Fingerprint{Change: s.State, Replicas: s.Replicas}
	}
	replicas, err := strconv.ParseInt(b.Annotations[v1alpha1.AnnotationReplicas], 10, 32)
	if err != nil {
		// A user changed the annotation. No application has this state.
		replicas = -1
	}
	return snapshot.Fingerprint{Change: b.Annotations[v1alpha1.AnnotationState], Replicas: int32(replicas)}
}

// sequence returns the number of a backup, or 0 if it has none or a user changed the annotation.
func sequence(b *v1alpha1.NginxBackup) int64 {
	if b == nil {
		return 0
	}
	n, err := strconv.ParseInt(b.Annotations[v1alpha1.AnnotationSequence], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// nextSequence returns the number of the backup that follows another one. It is at least the time
// in seconds: backups that are found in a store are numbered by the time at which they were taken,
// and may be found after the next one is created.
func nextSequence(before *v1alpha1.NginxBackup, now time.Time) int64 {
	return max(sequence(before)+1, now.Unix())
}

// latest returns the backup that was created last, or nil. Backups that are being deleted do not
// count.
func latest(backups []*v1alpha1.NginxBackup) *v1alpha1.NginxBackup {
	var live []*v1alpha1.NginxBackup
	for _, b := range backups {
		if b.DeletionTimestamp == nil {
			live = append(live, b)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return slices.MaxFunc(live, byMaking)
}

// byMaking compares backups of one policy and target by the order of their creation. Creation
// timestamps have a resolution of one second, which is too coarse. So has the number of a backup that
// was found in a store, and then the generation of the target decides.
func byMaking(a, b *v1alpha1.NginxBackup) int {
	return cmp.Or(cmp.Compare(sequence(a), sequence(b)), byGeneration(a.Status.Source, b.Status.Source),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// byGeneration compares two states of the same object. States of different objects are equal.
func byGeneration(a, b *v1alpha1.BackupSource) int {
	if a == nil || b == nil || a.UID != b.UID {
		return 0
	}
	return cmp.Compare(a.Generation, b.Generation)
}

func policyVersion(policy *v1alpha1.NginxBackupPolicy) string {
	return fmt.Sprintf("%.8s-%d", policy.UID, policy.Generation)
}

// wanted reports whether a backup has the destination, the Secrets and the claims that the policy requests now.
// A backup that the present version of the policy created always has, even if an API server or a
// webhook changed it. Otherwise it would be deleted and recreated forever.
func wanted(policy *v1alpha1.NginxBackupPolicy, b *v1alpha1.NginxBackup) bool {
	return b.Annotations[v1alpha1.AnnotationPolicyVersion] == policyVersion(policy) || apiequality.Semantic.DeepEqual(b.Spec.Destination, policy.Spec.Destination) &&
		apiequality.Semantic.DeepEqual(b.Spec.IncludeSecrets, policy.Spec.IncludeSecrets) &&
		sets.New(b.Spec.ExcludeClaims...).Equal(sets.New(policy.Spec.ExcludeClaims...))
}

// superseded reports whether a backup fails because of what it recorded, although the target has
// changed since. A fix of the target cannot help such a backup. A backup that fails because of its
// store is kept.
func superseded(target Target, b *v1alpha1.NginxBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
	if c == nil || BackedUpState(b) == target.State {
		return false
	}
	switch c.Reason {
	case v1alpha1.ReasonSourceFailed, v1alpha1.ReasonPodNotStarted, v1alpha1.ReasonJobNotCreated, v1alpha1.ReasonJobFailed:
		return true
	}
	return false
}

// LeavesData reports whether the data of a backup may outlive its object.
func LeavesData(b *v1alpha1.NginxBackup) bool {
	return b.Spec.DeletionPolicy != v1alpha1.Delete && (b.Status.StartTime != nil || Written(b)) && !Lost(b)
}
