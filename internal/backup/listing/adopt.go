package listing

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// NewBackup is the object of a backup that was found, under the name that it had. What policies
// decide by is in its annotations from the beginning: it counts before it was verified, so that
// nothing is backed up again that has been. destination and include are those of the policy
// that made it or, if that is gone, of the one that is listed.
func NewBackup(f Found, namespace string, destination v1alpha1.Destination, include *v1alpha1.IncludeSecrets) (*v1alpha1.NginxBackup, error) {
	place, err := ParsePath(namespace + "/" + f.Path)
	if err != nil {
		return nil, err
	}
	b := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      place.Backup,
			Labels:    map[string]string{v1alpha1.LabelTarget: place.Target},
			// A backup that is taken next comes after it, see plan.
			Annotations: map[string]string{v1alpha1.AnnotationSequence: strconv.FormatInt(f.TakenAt, 10)},
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target:         v1alpha1.TargetReference{Name: place.Target},
			Destination:    destination,
			DeletionPolicy: v1alpha1.Retain,
			Trigger:        v1alpha1.TriggerManual,
			PolicyName:     f.Policy,
			Existing:       &v1alpha1.ExistingBackup{Path: namespace + "/" + f.Path},
		},
	}
	if f.Trigger != "" {
		b.Spec.Trigger = v1alpha1.Trigger(f.Trigger)
	}
	if include != nil && Recipients(include.AgeRecipients) == f.Recipients {
		b.Spec.IncludeSecrets = include.DeepCopy()
	}
	if f.Policy != "" {
		b.Labels[v1alpha1.LabelPolicy] = f.Policy
	}
	if f.Replicas != nil {
		b.Annotations[v1alpha1.AnnotationState] = f.State
		b.Annotations[v1alpha1.AnnotationReplicas] = strconv.Itoa(int(*f.Replicas))
	}
	if f.ScheduledAt != 0 {
		b.Annotations[v1alpha1.AnnotationScheduledAt] = time.Unix(f.ScheduledAt, 0).UTC().Format(time.RFC3339)
	}
	return b, nil
}

// OtherName is the name of an object where another one has the backup's own: it has the first
// digits of the UID.
func OtherName(f Found) string {
	name := f.Path[strings.LastIndex(f.Path, "/")+1:]
	if len(name) <= mostBackup {
		return name
	}
	uid := name[len(name)-uidDigits:]
	return strings.TrimRight(name[:mostBackup-uidDigits-1], "-.") + "-" + uid
}

// ByPath are the backups of a policy's namespace that are in its destination, whoever made
// them, by their paths below the folder of the namespace. keyOf is where a backup is.
func ByPath(policy *v1alpha1.NginxBackupPolicy, backups []v1alpha1.NginxBackup, keyOf func(*v1alpha1.NginxBackup) string) map[string]*v1alpha1.NginxBackup {
	found := map[string]*v1alpha1.NginxBackup{}
	same := map[string]bool{}
	for i := range backups {
		b := &backups[i]
		url := b.Spec.Destination.URL
		if _, seen := same[url]; !seen {
			same[url] = Same(policy.Spec.Destination, b.Spec.Destination)
		}
		if path, inside := strings.CutPrefix(keyOf(b), policy.Namespace+"/"); inside && same[url] {
			found[path] = b
		}
	}
	return found
}
