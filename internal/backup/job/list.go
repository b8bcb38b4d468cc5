package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/listing"
)

// mostListName leaves room in a job's name for the task and the attempt, in bytes.
const mostListName = 56

// listName returns the prefix of the names of objects that list for a policy. It is the policy's
// name, shortened if it is longer than the name of a backup can be.
func listName(policy *v1alpha1.NginxBackupPolicy) string {
	if len(policy.Name) <= mostListName {
		return policy.Name
	}
	sum := sha256.Sum256([]byte(policy.Name))
	return policy.Name[:mostListName-9] + "-" + hex.EncodeToString(sum[:4])
}

func listOwner(policy *v1alpha1.NginxBackupPolicy) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "NginxBackupPolicy",
		Name: policy.Name, UID: policy.UID, Controller: new(true),
	}
}

// ForList returns the job that lists the destination of a policy. pieces are the ConfigMaps with
// the known backups.
func ForList(policy *v1alpha1.NginxBackupPolicy, pieces []*corev1.ConfigMap, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := newJob(subject{
		owner:       listOwner(policy),
		namespace:   policy.Namespace,
		labels:      map[string]string{v1alpha1.LabelPolicy: policy.Name},
		destination: policy.Spec.Destination,
		key:         policy.Namespace,
	}, List, attempt, pods)
	if err != nil {
		return nil, err
	}
	j.Name = fmt.Sprintf("%s-%.1s%d", listName(policy), List, attempt)
	j.Annotations = map[string]string{annotationGeneration: generation(policy)}
	j.Spec.ActiveDeadlineSeconds = new(listDeadline)
	var names []string
	for _, piece := range pieces {
		names = append(names, piece.Name)
	}
	mountSnapshot(&j.Spec.Template.Spec, names)
	return j, nil
}

// listDeadline bounds a listing, in seconds. Its pod may wait for something that does not exist any
// more; the next listing starts from the present state.
const listDeadline int64 = 30 * 60

// annotationGeneration is the generation of the policy that a job lists for.
const annotationGeneration = "backup.operator.example.com/policy-generation"

func generation(policy *v1alpha1.NginxBackupPolicy) string {
	return strconv.FormatInt(policy.Generation, 10)
}

// Lists reports whether a job lists for the present generation of a policy.
func Lists(j *batchv1.Job, policy *v1alpha1.NginxBackupPolicy) bool {
	return j.Annotations[annotationGeneration] == generation(policy)
}

// KnownPieces returns the ConfigMaps with the backups that have objects. Their names contain a hash
// of their contents.
func KnownPieces(policy *v1alpha1.NginxBackupPolicy, known listing.Known) ([]*corev1.ConfigMap, error) {
	chunks, err := known.Pack()
	if err != nil {
		return nil, err
	}
	pieces := make([]*corev1.ConfigMap, 0, len(chunks))
	for _, chunk := range chunks {
		sum := sha256.Sum256(chunk)
		pieces = append(pieces, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       policy.Namespace,
				Name:            fmt.Sprintf("%s-known-%s", listName(policy), hex.EncodeToString(sum[:5])),
				Labels:          map[string]string{v1alpha1.LabelPolicy: policy.Name, LabelTask: string(List)},
				OwnerReferences: []metav1.OwnerReference{listOwner(policy)},
			},
			Immutable:  new(true),
			BinaryData: map[string][]byte{PieceKey: chunk},
		})
	}
	return pieces, nil
}
