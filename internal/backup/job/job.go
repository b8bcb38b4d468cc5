// Package job builds the Jobs that write, read and delete backups, and defines what the operator and
// their pods exchange. It is pure.
//
// Only these pods access a store, and only they mount its credentials: the operator reads no Secrets.
// The pods do not access the API server.
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
	"example.com/nginx-operator/internal/kube/podsettings"
)

//go:embed manifest.yaml
var manifest []byte

// Container is the name of the container that does the work.
const Container = "nginx-backup"

// labelAttempt is the number of a job. LabelTask is its task.
const (
	labelAttempt = "backup.operator.example.com/attempt"
	// LabelTask is set on every job of the backup operator, and on its pod.
	LabelTask = "backup.operator.example.com/task"
)

// PodOptions are what the pods of all jobs have in common.
type PodOptions struct {
	// Image contains the program of the jobs.
	Image string
	podsettings.Settings
}

// Task is what a job does.
type Task string

// The tasks.
const (
	// Create writes the archive of a backup.
	Create Task = "create"
	// Delete deletes the data of a backup.
	Delete Task = "delete"
	// Read verifies a backup and serves its declarations to the operator.
	Read Task = "read"
	// Match compares volumes with a backup.
	Match Task = "match"
	// Extract restores the files of volumes.
	Extract Task = "extract"
	// VerifyExisting verifies a backup that was created under another object.
	VerifyExisting Task = "adopt"
	// List looks for backups that have no object.
	List Task = "list"
)

// Attempt returns the number of a job, or of its pod. It is 0 if a user changed the label.
func Attempt(object metav1.Object) int {
	n, err := strconv.Atoi(object.GetLabels()[labelAttempt])
	if err != nil {
		return 0
	}
	return n
}

// mostAttempts bounds the number in a job's name, which is limited to 63 characters. After it, the
// numbers begin again at 1: the first job was deleted long before.
const mostAttempts = 9999

// Next returns the number of the next attempt.
func Next(attempt int) int { return attempt%mostAttempts + 1 }

// Key returns where in the store the files of a backup are, below the destination's folder. It is
// the prefix of their names.
func Key(backup *v1alpha1.NginxBackup) string {
	if backup.Spec.Existing != nil {
		return backup.Spec.Existing.Path
	}
	return fmt.Sprintf("%s/%s/%s-%.8s", backup.Namespace, backup.Spec.Target.Name, backup.Name, backup.UID)
}

// uid returns the UID in the record of a backup, or its beginning if the backup existed already and
// was written by another object.
func uid(backup *v1alpha1.NginxBackup) string {
	if backup.Spec.Existing != nil {
		key := Key(backup)
		return key[strings.LastIndex(key, "-")+1:]
	}
	return string(backup.UID)
}

// ForCreate returns the job that writes a backup. pieces are the names of the ConfigMaps with the
// snapshot.
func ForCreate(backup *v1alpha1.NginxBackup, s snapshot.Snapshot, pieces []string, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := forBackup(backup, Create, attempt, pods)
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
		// A claim that only one node can mount is on a node where nginx runs.
		pod.Affinity = affinityWith(backup.Spec.Target.Name)
		pod.Tolerations = s.Tolerations
	}
	return j, nil
}

// MemoryLimit returns the GOMEMLIMIT of a job's pod, the limit that Go's garbage collector aims
// for.
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

// ForDelete returns the job that deletes the data of a backup.
func ForDelete(backup *v1alpha1.NginxBackup, attempt int, pods PodOptions) (*batchv1.Job, error) {
	return forBackup(backup, Delete, attempt, pods)
}

// ForVerifyExisting returns the job that verifies a backup that was created under another object.
func ForVerifyExisting(backup *v1alpha1.NginxBackup, attempt int, pods PodOptions) (*batchv1.Job, error) {
	return forBackup(backup, VerifyExisting, attempt, pods)
}

// forBackup returns a job that gets the UID of a backup and the number of the attempt.
func forBackup(backup *v1alpha1.NginxBackup, task Task, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := newJob(subjectOf(backup), task, attempt, pods)
	if err != nil {
		return nil, err
	}
	container := &j.Spec.Template.Spec.Containers[0]
	container.Args = append(container.Args, "--uid="+uid(backup), "--attempt="+strconv.Itoa(attempt))
	return j, nil
}

// subject is what a job works on.
type subject struct {
	owner metav1.OwnerReference
	// namespace is the namespace of the owner. labels identify its jobs.
	namespace string
	labels    map[string]string
	// destination is the store. key is the path in it that the job works on.
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

// newJob returns a job with access to the destination.
func newJob(s subject, task Task, attempt int, pods PodOptions) (*batchv1.Job, error) {
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
	container.Image = pods.Image
	for _, name := range pods.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if pods.PlatformAssignsIDs {
		pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup = nil, nil
	}
	container.Args = []string{
		string(task),
		"--destination=" + destination.String(),
		"--key=" + s.key,
	}
	reach(pod, destination, s.destination.Secret, task)
	return j, nil
}

// Owner returns an owner reference that deletes an object with its backup. It does not set
// blockOwnerDeletion, which would require permission to update finalizers
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement).
func Owner(backup *v1alpha1.NginxBackup) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "NginxBackup",
		Name: backup.Name, UID: backup.UID, Controller: new(true),
	}
}

// reach mounts the destination or the credentials for it.
func reach(pod *corev1.PodSpec, destination location.Location, secret *v1alpha1.SecretReference, task Task) {
	if destination.Scheme == location.PVC {
		// Writing needs an fsGroup, which would also change the group of the files that are only
		// compared.
		readOnly := task == Match
		mount(pod, "destination", DestinationDir, readOnly, corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: destination.Bucket, ReadOnly: readOnly},
		})
		if !readOnly {
			allowWrite(pod)
		}
	}
	if secret != nil {
		// The volume is optional because the variables below already require the Secret. If it is
		// missing, the kubelet reports that in the pod's status for variables, but only in an event
		// for volumes.
		mount(pod, "credentials", CredentialsDir, true, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret.Name, Optional: new(true)}})
		pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name},
		}}}
	}
}

// allowWrite lets the pod write to a new volume, which usually belongs to root. A platform that assigns the ids of the
// processes also assigns the group of volumes.
func allowWrite(pod *corev1.PodSpec) {
	pod.SecurityContext.FSGroup = pod.SecurityContext.RunAsGroup
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

// mountSecrets mounts the Secrets to encrypt. If there are no recipients, it mounts only
// certificates, for their fingerprints, and not their keys.
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

// access is what a pod may do with the volumes of an application.
type access int

const (
	// asItIs reads a volume that is in use. The read-only claim keeps the group of its files:
	// Kubernetes applies fsGroup only to claims that are not read-only.
	asItIs access = iota
	// toCompare reads a volume that may be new. Kubernetes formats a new volume only if its claim
	// is not read-only.
	toCompare
	toWrite
)

// mountContent mounts a volume of the application, by its index in the archive.
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

func affinityWith(target string) *corev1.Affinity {
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
