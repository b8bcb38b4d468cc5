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

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// newBackup is the object of a backup that is due. Its name follows from the policy, the
// target, why it is due and the backup before it.
func newBackup(policy *v1alpha1.NginxBackupPolicy, target Target, due due, before *v1alpha1.NginxBackup, now time.Time) *v1alpha1.NginxBackup {
	previous := ""
	if before != nil {
		previous = before.Name + string(before.UID)
	}
	replicas := strconv.Itoa(int(target.State.Replicas))
	annotations := map[string]string{
		v1alpha1.AnnotationPolicyVersion: version(policy),
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
			DeletionPolicy: v1alpha1.Retain,
			Trigger:        due.trigger,
			PolicyName:     policy.Name,
		},
	}
}

// Good tells whether a backup is whole, in its place, and was read back.
func Good(b *v1alpha1.NginxBackup) bool {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCompleted) && b.Status.CompletionTime != nil &&
		(verified == nil || verified.Status == metav1.ConditionTrue)
}

// Written tells whether the data of a backup has been written, now or long ago, so that it is
// not to be written again, whatever has become of it.
func Written(b *v1alpha1.NginxBackup) bool {
	return b.Spec.Existing != nil || b.Status.CompletionTime != nil
}

// Lost tells of a backup whose data was there and is not any more.
func Lost(b *v1alpha1.NginxBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return c != nil && c.Reason == v1alpha1.ReasonDataMissing
}

// usable tells whether a backup holds, or will hold, what it says, as far as is known.
func usable(b *v1alpha1.NginxBackup) bool {
	if Lost(b) {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
	return !Written(b) || c == nil || c.Reason != v1alpha1.ReasonDamaged && c.Reason != v1alpha1.ReasonPathInvalid
}

// Held is the state that a backup holds: the one that was recorded, or else the one that it
// was made for.
func Held(b *v1alpha1.NginxBackup) snapshot.State {
	if s := b.Status.Source; s != nil && s.State != "" {
		return snapshot.State{Change: s.State, Replicas: s.Replicas}
	}
	replicas, err := strconv.ParseInt(b.Annotations[v1alpha1.AnnotationReplicas], 10, 32)
	if err != nil {
		// Somebody changed the annotation: it holds no state that any application is in.
		replicas = -1
	}
	return snapshot.State{Change: b.Annotations[v1alpha1.AnnotationState], Replicas: int32(replicas)}
}

// sequence is the number of a backup; 0: somebody changed the annotation, or there is none.
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

// nextSequence is the number of the backup after another. It is not less than the time, in
// seconds: backups that were found in a store are numbered by the time at which they were taken,
// and some may be found later than the next one is made.
func nextSequence(before *v1alpha1.NginxBackup, now time.Time) int64 {
	return max(sequence(before)+1, now.Unix())
}

// latest is the backup that was made last; what is being deleted does not count.
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

// byMaking compares backups of a policy and target by when they were made. Times of creation
// are whole seconds, too coarse to tell.
func byMaking(a, b *v1alpha1.NginxBackup) int {
	return cmp.Or(cmp.Compare(sequence(a), sequence(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

func version(policy *v1alpha1.NginxBackupPolicy) string {
	return fmt.Sprintf("%.8s-%d", policy.UID, policy.Generation)
}

// wanted tells whether a backup is where the policy keeps backups now, with what it includes.
// One that the policy made as it is now is, however an API server or a webhook may have
// changed it: otherwise it would be deleted and made again for ever.
func wanted(policy *v1alpha1.NginxBackupPolicy, b *v1alpha1.NginxBackup) bool {
	return b.Annotations[v1alpha1.AnnotationPolicyVersion] == version(policy) || apiequality.Semantic.DeepEqual(b.Spec.Destination, policy.Spec.Destination) &&
		apiequality.Semantic.DeepEqual(b.Spec.IncludeSecrets, policy.Spec.IncludeSecrets)
}

// superseded tells of a backup that fails by what it recorded, while the target is another by
// now: what is mended there cannot help it. Where the store is the trouble, it is kept.
func superseded(target Target, b *v1alpha1.NginxBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
	if c == nil || Held(b) == target.State {
		return false
	}
	switch c.Reason {
	case v1alpha1.ReasonSourceFailed, v1alpha1.ReasonPodNotStarted, v1alpha1.ReasonJobNotCreated, v1alpha1.ReasonJobFailed:
		return true
	}
	return false
}
