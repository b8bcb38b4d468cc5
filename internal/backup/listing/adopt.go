package listing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// NewBackup returns the object of a backup that was found, under the name that it had. Its
// annotations hold what policies decide by, so it counts before it is verified, and nothing is
// backed up twice. policy is the one that created it or, if that does not exist any more, the one
// that is listed.
func NewBackup(f FoundBackup, namespace string, policy *v1alpha1.NginxBackupPolicySpec) (*v1alpha1.NginxBackup, error) {
	place, err := ParsePath(namespace + "/" + f.Path)
	if err != nil {
		return nil, err
	}
	b := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      place.Backup,
			Labels:    map[string]string{v1alpha1.LabelTarget: place.Target},
			// The next backup gets a higher sequence, see plan.
			Annotations: map[string]string{v1alpha1.AnnotationSequence: strconv.FormatInt(f.TakenAt, 10)},
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target:         v1alpha1.TargetReference{Name: place.Target},
			Destination:    policy.Destination,
			DeletionPolicy: v1alpha1.Retain,
			Trigger:        v1alpha1.TriggerManual,
			Existing:       &v1alpha1.ExistingBackup{Path: namespace + "/" + f.Path},
		},
	}
	if f.Trigger != "" {
		b.Spec.Trigger = v1alpha1.Trigger(f.Trigger)
	}
	if include := policy.IncludeSecrets; include != nil && SetHash(include.AgeRecipients) == f.Recipients {
		b.Spec.IncludeSecrets = include.DeepCopy()
	}
	if SetHash(policy.ExcludeClaims) == f.Excluded {
		b.Spec.ExcludeClaims = slices.Clone(policy.ExcludeClaims)
	}
	if f.Policy != "" {
		b.Spec.PolicyName = new(f.Policy)
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

// OtherName returns a name for an object whose own name is taken. It ends with the first digits of
// the UID.
func OtherName(f FoundBackup) string {
	name := f.Path[strings.LastIndex(f.Path, "/")+1:]
	if len(name) <= mostBackup {
		return name
	}
	uid := name[len(name)-uidDigits:]
	return strings.TrimRight(name[:mostBackup-uidDigits-1], "-.") + "-" + uid
}

// ByPath returns the backups of a policy's namespace that are in its destination, whatever created
// them, by their paths below the folder of the namespace. keyOf returns the path of a backup.
func ByPath(policy *v1alpha1.NginxBackupPolicy, backups []v1alpha1.NginxBackup, keyOf func(*v1alpha1.NginxBackup) string) map[string]*v1alpha1.NginxBackup {
	found := map[string]*v1alpha1.NginxBackup{}
	same := map[string]bool{}
	for i := range backups {
		b := &backups[i]
		url := b.Spec.Destination.URL
		if _, seen := same[url]; !seen {
			same[url] = SameDestination(policy.Spec.Destination, b.Spec.Destination)
		}
		if path, inside := strings.CutPrefix(keyOf(b), policy.Namespace+"/"); inside && same[url] {
			found[path] = b
		}
	}
	return found
}
