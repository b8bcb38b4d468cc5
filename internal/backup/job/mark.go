package job

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// annotationMark contains the mark of a job.
const annotationMark = "backup.operator.example.com/mark"

// SetMark marks a job as the operator's own. Users who may create jobs can copy its name, its labels and its owner, but not
// its mark: it is a MAC, with a private key of the operator, of the UID that the API server gave to the job. It also covers
// everything about a job that is decided from and that users can change.
func SetMark(key ed25519.PrivateKey, j *batchv1.Job) {
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, annotationMark, hex.EncodeToString(mark(key, j)))
}

// Marked reports whether an object controls a job that the operator has marked with one of its keys.
func Marked(keys []ed25519.PrivateKey, j *batchv1.Job, owner types.UID) bool {
	controller := metav1.GetControllerOfNoCopy(j)
	got, err := hex.DecodeString(j.Annotations[annotationMark])
	if controller == nil || controller.UID != owner || err != nil {
		return false
	}
	return slices.ContainsFunc(keys, func(key ed25519.PrivateKey) bool { return hmac.Equal(got, mark(key, j)) })
}

func mark(key ed25519.PrivateKey, j *batchv1.Job) []byte {
	var owner types.UID
	if controller := metav1.GetControllerOfNoCopy(j); controller != nil {
		owner = controller.UID
	}
	mac := hmac.New(sha256.New, key.Seed())
	// A hash accepts every write.
	_, _ = fmt.Fprintf(mac, "backup job %q of %q: task %q, attempt %q, policy generation %q",
		j.UID, owner, j.Labels[LabelTask], j.Labels[labelAttempt], j.Annotations[annotationGeneration])
	return mac.Sum(nil)
}
