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
	"example.com/nginx-operator/internal/backup/handover"
	"example.com/nginx-operator/internal/backup/restoration"
)

// Source is a backup that is restored.
type Source struct {
	Destination v1alpha1.Destination
	// Key of its folder, see Key.
	Key string
	// SHA256 of its archive, in hexadecimal, as its object tells it or as it was read; empty: there
	// is no object, and it was not read yet.
	SHA256 string
}

// ForRead is the job that verifies a backup, and hands over what it declares.
func ForRead(restore *v1alpha1.NginxRestore, source Source, attempt int, image string) (*batchv1.Job, error) {
	j, err := forRestore(restore, source, Read, attempt, image)
	if err != nil {
		return nil, err
	}
	c := &j.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, fmt.Sprintf("--listen=[$(POD_IP)]:%d", handover.Port))
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
		corev1.EnvVar{Name: TokenVariable, Value: Token(restore)})
	c.Ports = []corev1.ContainerPort{{Name: "documents", ContainerPort: handover.Port, Protocol: corev1.ProtocolTCP}}
	// The pod is ready when all of the archive was verified.
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: handover.ReadyPath, Port: intstr.FromString("documents")}},
		PeriodSeconds: 1,
	}
	return j, nil
}

// TokenVariable is the environment variable with the token by which the operator is known.
const TokenVariable = "HANDOVER_TOKEN"

// Token is known to who may read the restore.
func Token(restore *v1alpha1.NginxRestore) string { return string(restore.UID) }

// ForMatch is the job that compares volumes with a backup. It leaves them as they are, to the
// group of their files.
func ForMatch(restore *v1alpha1.NginxRestore, source Source, plan restoration.Plan, target string, attempt int, image string) (*batchv1.Job, error) {
	return forVolumes(restore, source, Match, toCompare, plan, target, attempt, image)
}

// ForExtract is the job that brings the files of volumes back.
func ForExtract(restore *v1alpha1.NginxRestore, source Source, plan restoration.Plan, target string, attempt int, image string) (*batchv1.Job, error) {
	j, err := forVolumes(restore, source, Extract, toWrite, plan, target, attempt, image)
	if err != nil {
		return nil, err
	}
	policy := archive.Refuse
	if restore.Spec.OnConflict == v1alpha1.ConflictOverwrite {
		policy = archive.Overwrite
	}
	pod := &j.Spec.Template.Spec
	pod.Containers[0].Args = append(pod.Containers[0].Args, "--on-conflict="+string(policy))
	letWrite(pod)
	return j, nil
}

func forVolumes(restore *v1alpha1.NginxRestore, source Source, task Task, a access, plan restoration.Plan, target string, attempt int, image string) (*batchv1.Job, error) {
	j, err := forRestore(restore, source, task, attempt, image)
	if err != nil {
		return nil, err
	}
	pod := &j.Spec.Template.Spec
	for _, v := range plan.Volumes {
		mountContent(pod, v.Index, v.Claim, a)
		pod.Containers[0].Args = append(pod.Containers[0].Args, "--volume="+strconv.Itoa(v.Index))
	}
	pod.Affinity, pod.Tolerations = besides(target), plan.Tolerations
	return j, nil
}

// DryRun tells whether a restore changes nothing.
func DryRun(restore *v1alpha1.NginxRestore) bool {
	return restore.Spec.DryRun != nil && *restore.Spec.DryRun
}

func forRestore(restore *v1alpha1.NginxRestore, source Source, task Task, attempt int, image string) (*batchv1.Job, error) {
	j, err := newJob(subject{
		owner: metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "NginxRestore",
			Name: restore.Name, UID: restore.UID, Controller: new(true),
		},
		namespace:   restore.Namespace,
		labels:      map[string]string{v1alpha1.LabelRestore: restore.Name},
		destination: source.Destination,
		key:         source.Key,
	}, task, attempt, image)
	if err != nil {
		return nil, err
	}
	c := &j.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, "--sha256="+source.SHA256)
	return j, nil
}
