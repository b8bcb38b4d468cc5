package job

import (
	"crypto/ed25519"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func aKey(seed byte) ed25519.PrivateKey {
	bytes := make([]byte, ed25519.SeedSize)
	bytes[0] = seed
	return ed25519.NewKeyFromSeed(bytes)
}

// TestMarked: a mark is valid only on the job that got it, as it was.
func TestMarked(t *testing.T) {
	const owner = "01234567-89ab-cdef-0123-456789abcdef"
	for name, tt := range map[string]struct {
		change func(*batchv1.Job)
		keys   []ed25519.PrivateKey
		want   bool
	}{
		"as it was":            {want: true},
		"another label":        {change: func(j *batchv1.Job) { j.Labels["team"] = "shop" }, want: true},
		"the key was replaced": {keys: []ed25519.PrivateKey{aKey(2), aKey(1)}, want: true},
		"the key was revoked":  {keys: []ed25519.PrivateKey{aKey(2)}},
		"no key":               {keys: []ed25519.PrivateKey{}},
		"no mark":              {change: func(j *batchv1.Job) { delete(j.Annotations, annotationMark) }},
		"an empty mark":        {change: func(j *batchv1.Job) { j.Annotations[annotationMark] = "" }},
		"no hexadecimal":       {change: func(j *batchv1.Job) { j.Annotations[annotationMark] += "x" }},
		"half a mark":          {change: func(j *batchv1.Job) { j.Annotations[annotationMark] = j.Annotations[annotationMark][:32] }},
		"a copy":               {change: func(j *batchv1.Job) { j.UID = "another-job" }},
		"another task":         {change: func(j *batchv1.Job) { j.Labels[LabelTask] = string(Delete) }},
		"another attempt":      {change: func(j *batchv1.Job) { j.Labels[labelAttempt] = "4" }},
		"another generation":   {change: func(j *batchv1.Job) { j.Annotations[annotationGeneration] = "4" }},
		"another owner":        {change: func(j *batchv1.Job) { j.OwnerReferences[0].UID = "another-backup" }},
		"no owner":             {change: func(j *batchv1.Job) { j.OwnerReferences = nil }},
		"no controller":        {change: func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }},
		"another controller": {change: func(j *batchv1.Job) {
			j.OwnerReferences[0].Controller = nil
			j.OwnerReferences = append(j.OwnerReferences, metav1.OwnerReference{UID: "another-backup", Controller: new(true)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := ForDelete(aBackup("pvc://backups", ""), 3, testPods)
			if err != nil {
				t.Fatal(err)
			}
			j.UID, j.Labels[LabelTask] = "a-job", string(Create)
			j.OwnerReferences[0].UID = owner
			SetMark(aKey(1), j)
			if tt.change != nil {
				tt.change(j)
			}
			if tt.keys == nil {
				tt.keys = []ed25519.PrivateKey{aKey(1)}
			}
			if got := Marked(tt.keys, j, owner); got != tt.want {
				t.Errorf("it is marked: %t", got)
			}
			if Marked(tt.keys, j, "another-backup") {
				t.Error("it is marked for another owner")
			}
		})
	}
}
