package job

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/restoration"
)

// RestoreSource is the backup to restore.
type RestoreSource struct {
	Destination v1alpha1.Destination
	// Key is the backup's key, see Key.
	Key string
	// SHA256 is the hash of its archive in hexadecimal, from its object or from a previous read. It
	// is empty if there is no object and the archive has not been read yet.
	SHA256 string
}

// ForRead returns the job that verifies a backup and serves its declarations.
func ForRead(restore *v1alpha1.NginxRestore, source RestoreSource, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := forRestore(restore, source, Read, attempt, pods)
	if err != nil {
		return nil, err
	}
	c := &j.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, fmt.Sprintf("--listen=[$(POD_IP)]:%d", declarations.Port))
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
		corev1.EnvVar{Name: TokenVariable, Value: RestoreAuthToken(restore)})
	c.Ports = []corev1.ContainerPort{{Name: "documents", ContainerPort: declarations.Port, Protocol: corev1.ProtocolTCP}}
	// The pod is ready once the whole archive has been verified.
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: declarations.ReadyPath, Port: intstr.FromString("documents")}},
		PeriodSeconds: 1,
	}
	return j, nil
}

// TokenVariable is the environment variable with the token that the operator presents.
const TokenVariable = "HANDOVER_TOKEN"

// RestoreAuthToken returns the token of a restore. Everyone who may read the restore knows it.
func RestoreAuthToken(restore *v1alpha1.NginxRestore) string { return string(restore.UID) }

// ForCompareVolumes returns the job that compares volumes with a backup. It does not change the volumes, not
// even the group of their files.
func ForCompareVolumes(restore *v1alpha1.NginxRestore, source RestoreSource, plan restoration.Plan, target string, attempt int, pods PodOptions) (*batchv1.Job, error) {
	return forVolumes(restore, source, Match, toCompare, plan, target, attempt, pods)
}

// ForExtract returns the job that restores the files of volumes.
func ForExtract(restore *v1alpha1.NginxRestore, source RestoreSource, plan restoration.Plan, target string, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := forVolumes(restore, source, Extract, toWrite, plan, target, attempt, pods)
	if err != nil {
		return nil, err
	}
	policy := archive.Refuse
	if restore.Spec.OnConflict == v1alpha1.ConflictOverwrite {
		policy = archive.Overwrite
	}
	pod := &j.Spec.Template.Spec
	pod.Containers[0].Args = append(pod.Containers[0].Args, "--on-conflict="+string(policy))
	allowWrite(pod)
	return j, nil
}

func forVolumes(restore *v1alpha1.NginxRestore, source RestoreSource, task Task, a access, plan restoration.Plan, target string, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := forRestore(restore, source, task, attempt, pods)
	if err != nil {
		return nil, err
	}
	pod := &j.Spec.Template.Spec
	for _, v := range plan.Volumes {
		mountContent(pod, v.Index, v.Claim, a)
		pod.Containers[0].Args = append(pod.Containers[0].Args, "--volume="+strconv.Itoa(v.Index))
	}
	pod.Affinity, pod.Tolerations = affinityWith(target), plan.Tolerations
	return j, nil
}

// DryRun reports whether a restore changes nothing.
func DryRun(restore *v1alpha1.NginxRestore) bool {
	return restore.Spec.DryRun != nil && *restore.Spec.DryRun
}

func forRestore(restore *v1alpha1.NginxRestore, source RestoreSource, task Task, attempt int, pods PodOptions) (*batchv1.Job, error) {
	j, err := newJob(subject{
		owner: metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "NginxRestore",
			Name: restore.Name, UID: restore.UID, Controller: new(true),
		},
		namespace:   restore.Namespace,
		labels:      map[string]string{v1alpha1.LabelRestore: restore.Name},
		destination: source.Destination,
		key:         source.Key,
	}, task, attempt, pods)
	if err != nil {
		return nil, err
	}
	c := &j.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, "--sha256="+source.SHA256)
	return j, nil
}
