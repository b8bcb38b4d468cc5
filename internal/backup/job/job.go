// Package job makes the Jobs that write, read and delete backups, and has what the operator and
// their pods say to each other. It is pure.
//
// Only these pods reach a store, and only they mount its credentials: the operator reads no
// Secret. They reach no API server.
package job

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/snapshot"
)

//go:embed manifest.yaml
var manifest []byte

// Container is the name of the one that does the work.
const Container = "nginx-backup"

// labelAttempt numbers the jobs of a backup, LabelTask tells what they do.
const (
	labelAttempt = "backup.operator.example.com/attempt"
	// LabelTask is on every job of the backup kinds, and on its pod.
	LabelTask = "backup.operator.example.com/task"
)

// Task is what a job does.
type Task string

// The tasks.
const (
	// Create writes the archive of a backup.
	Create Task = "create"
	// Delete deletes the data of a backup.
	Delete Task = "delete"
	// Read verifies a backup, and tells the operator what it declares.
	Read Task = "read"
	// Match compares volumes with a backup.
	Match Task = "match"
	// Extract brings the files of volumes back.
	Extract Task = "extract"
	// Adopt verifies a backup that was made under another object.
	Adopt Task = "adopt"
	// List looks for backups that have no object.
	List Task = "list"
)

// Attempt is the number of a job, or of its pod; 0: somebody changed its label.
func Attempt(object metav1.Object) int {
	n, err := strconv.Atoi(object.GetLabels()[labelAttempt])
	if err != nil {
		return 0
	}
	return n
}

// mostAttempts bounds the number in a job's name, which may have 63 characters. After it
// comes the first again, whose job is long gone.
const mostAttempts = 9999

// Next is the number of the attempt after another.
func Next(attempt int) int { return attempt%mostAttempts + 1 }

// Key is where in the store, below the destination's folder, the files of a backup are. They
// are called so and something more.
func Key(backup *v1alpha1.NginxBackup) string {
	if backup.Spec.Existing != nil {
		return backup.Spec.Existing.Path
	}
	return fmt.Sprintf("%s/%s/%s-%.8s", backup.Namespace, backup.Spec.Target.Name, backup.Name, backup.UID)
}

// uid is the UID in the record of a backup, or its beginning: one that existed already is that
// of another object.
func uid(backup *v1alpha1.NginxBackup) string {
	if backup.Spec.Existing != nil {
		key := Key(backup)
		return key[strings.LastIndex(key, "-")+1:]
	}
	return string(backup.UID)
}

// ForCreate is the job that writes a backup. pieces are the ConfigMaps with the snapshot.
func ForCreate(backup *v1alpha1.NginxBackup, s snapshot.Snapshot, pieces []string, attempt int, image string) (*batchv1.Job, error) {
	j, err := forBackup(backup, Create, attempt, image)
	if err != nil {
		return nil, err
	}
	pod := &j.Spec.Template.Spec
	mountSnapshot(pod, pieces)
	for i, v := range s.Volumes {
		mountContent(pod, i, v.Claim, asItIs)
	}
	mountSecrets(pod, s)
	if len(s.Volumes) > 0 {
		// A claim that one node alone can mount is there where nginx runs.
		pod.Affinity = besides(backup.Spec.Target.Name)
		pod.Tolerations = s.Tolerations
	}
	return j, nil
}

// MemoryLimit is the goal that the pod of a job gives to Go's garbage collector, as in
// GOMEMLIMIT.
func MemoryLimit() (string, error) {
	j := &batchv1.Job{}
	if err := yaml.UnmarshalStrict(manifest, j); err != nil {
		return "", fmt.Errorf("read the manifest of jobs: %w", err)
	}
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "GOMEMLIMIT" {
			return e.Value, nil
		}
	}
	return "", errors.New("the manifest of jobs has no GOMEMLIMIT")
}

// ForDelete is the job that deletes the data of a backup.
func ForDelete(backup *v1alpha1.NginxBackup, attempt int, image string) (*batchv1.Job, error) {
	return forBackup(backup, Delete, attempt, image)
}

// ForAdopt is the job that verifies a backup that was made under another object.
func ForAdopt(backup *v1alpha1.NginxBackup, attempt int, image string) (*batchv1.Job, error) {
	return forBackup(backup, Adopt, attempt, image)
}

// forBackup is a job that knows which backup it is, and which attempt.
func forBackup(backup *v1alpha1.NginxBackup, task Task, attempt int, image string) (*batchv1.Job, error) {
	j, err := newJob(subjectOf(backup), task, attempt, image)
	if err != nil {
		return nil, err
	}
	container := &j.Spec.Template.Spec.Containers[0]
	container.Args = append(container.Args, "--uid="+uid(backup), "--attempt="+strconv.Itoa(attempt))
	return j, nil
}

// subject is what a job works for.
type subject struct {
	owner metav1.OwnerReference
	// namespace of the owner, and the labels by which its jobs are found.
	namespace string
	labels    map[string]string
	// destination is the store, key what the job works on there.
	destination v1alpha1.Destination
	key         string
}

func subjectOf(backup *v1alpha1.NginxBackup) subject {
	return subject{
		owner:     Owner(backup),
		namespace: backup.Namespace,
		labels: map[string]string{
			v1alpha1.LabelBackup: backup.Name,
			v1alpha1.LabelTarget: backup.Spec.Target.Name,
		},
		destination: backup.Spec.Destination,
		key:         Key(backup),
	}
}

// newJob is a job that reaches the destination.
func newJob(s subject, task Task, attempt int, image string) (*batchv1.Job, error) {
	j := &batchv1.Job{}
	if err := yaml.UnmarshalStrict(manifest, j); err != nil {
		return nil, fmt.Errorf("read the manifest of jobs: %w", err)
	}
	destination, err := location.Parse(s.destination.URL)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(s.labels)
	labels[LabelTask] = string(task)
	labels[labelAttempt] = strconv.Itoa(attempt)
	j.ObjectMeta = metav1.ObjectMeta{
		Namespace:       s.namespace,
		Name:            fmt.Sprintf("%s-%.1s%d", s.owner.Name, task, attempt),
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{s.owner},
	}
	j.Spec.Template.Labels = labels
	pod := &j.Spec.Template.Spec
	container := &pod.Containers[0]
	container.Image = image
	container.Args = []string{
		string(task),
		"--destination=" + destination.String(),
		"--key=" + s.key,
	}
	reach(pod, destination, s.destination.Secret, task)
	return j, nil
}

// Owner makes an object go with its backup. It does not hold the backup up, which would need
// a right to its finalizers
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement).
func Owner(backup *v1alpha1.NginxBackup) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "NginxBackup",
		Name: backup.Name, UID: backup.UID, Controller: new(true),
	}
}

// reach mounts the destination, or the credentials for it.
func reach(pod *corev1.PodSpec, destination location.Location, secret *v1alpha1.SecretReference, task Task) {
	if destination.Scheme == location.PVC {
		// The pod's group would be given the files of the volumes, too, that are only compared.
		readOnly := task == Match
		mount(pod, "destination", DestinationDir, readOnly, corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: destination.Bucket, ReadOnly: readOnly},
		})
		if !readOnly {
			letWrite(pod)
		}
	}
	if secret != nil {
		// The variables below need the Secret, and of them the kubelet tells in the pod's status
		// when it is missing. Of a volume it would tell in an event only.
		mount(pod, "credentials", CredentialsDir, true, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret.Name, Optional: new(true)}})
		pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name},
		}}}
	}
}

// letWrite lets the pod write to a new volume, which mostly belongs to root.
func letWrite(pod *corev1.PodSpec) {
	pod.SecurityContext.FSGroup = new(int64(101))
	pod.SecurityContext.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
}

func mountSnapshot(pod *corev1.PodSpec, pieces []string) {
	source := &corev1.ProjectedVolumeSource{}
	for i, name := range pieces {
		source.Sources = append(source.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
			Items:                []corev1.KeyToPath{{Key: PieceKey, Path: fmt.Sprintf("%03d", i)}},
		}})
	}
	mount(pod, "snapshot", SnapshotDir, true, corev1.VolumeSource{Projected: source})
}

// mountSecrets mounts what is to be encrypted. Otherwise certificates alone are mounted, for
// their fingerprints, without their keys.
func mountSecrets(pod *corev1.PodSpec, s snapshot.Snapshot) {
	for i, secret := range s.Secrets {
		if len(s.Recipients) == 0 && !secret.Certificate {
			continue
		}
		source := &corev1.SecretVolumeSource{SecretName: secret.Name, Optional: new(true)}
		if len(s.Recipients) == 0 {
			source.Items = []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: corev1.TLSCertKey}}
		}
		mount(pod, "secret-"+strconv.Itoa(i), SecretsDir+"/"+secret.Name, true, corev1.VolumeSource{Secret: source})
	}
}

// mountContent mounts the volume of an index in the archive.
// access is what a pod may do with the volumes of an application.
type access int

const (
	// asItIs reads a volume that is in use. Its files keep their group: Kubernetes gives them to
	// that of a pod (fsGroup) only where its claim is not read-only.
	asItIs access = iota
	// toCompare reads one that may be new. It is to be formatted then, for which its claim must
	// not be read-only.
	toCompare
	toWrite
)

func mountContent(pod *corev1.PodSpec, index int, claim string, a access) {
	number := strconv.Itoa(index)
	mount(pod, "content-"+number, ContentDir+"/"+number, a != toWrite, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: a == asItIs},
	})
}

func mount(pod *corev1.PodSpec, name, path string, readOnly bool, source corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
}

func besides(target string) *corev1.Affinity {
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha2.LabelNginxOperator: target}},
				TopologyKey:   corev1.LabelHostname,
			},
		}},
	}}
}
