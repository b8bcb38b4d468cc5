//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// volumesFolder is the directory of the volumes on a node.
const volumesFolder = "/var/lib/nginx-operator-e2e"

// newClaim creates a bound PersistentVolumeClaim that the user of nginx can write to. Its volume is
// a directory on one node, so no provisioner is needed, and is deleted after the test.
func newClaim(t *testing.T, namespace, name string) {
	t.Helper()
	node := schedulableNode(t)
	// Only root can create directories on a node, and only in a namespace where pods are not
	// restricted.
	makers := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-volumes-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
	}}
	must(t, kube.Create(t.Context(), makers))
	cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, makers) })
	folder := namespace + "-" + name
	cleanup(t, func(ctx context.Context) error {
		// A pod that ends may still write there.
		return onNode(ctx, makers.Name, "remove", node, `rm -rf "/volumes/`+folder+`" || { sleep 2; rm -rf "/volumes/`+folder+`"; }`)
	})
	must(t, onNode(t.Context(), makers.Name, "make", node,
		fmt.Sprintf(`mkdir "/volumes/%[1]s" && chown 101:101 "/volumes/%[1]s" && chmod 0770 "/volumes/%[1]s"`, folder)))
	volume := localVolume(folder, node, namespace, name)
	must(t, kube.Create(t.Context(), volume))
	cleanup(t, func(ctx context.Context) error { return client.IgnoreNotFound(kube.Delete(ctx, volume)) })
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: volume.Spec.AccessModes, StorageClassName: new(""), VolumeName: volume.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: volume.Spec.Capacity},
		},
	}
	must(t, kube.Create(t.Context(), claim))
	eventually(t, "the claim is bound", func() error {
		if err := get(t, claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return nil
	})
}

func schedulableNode(t *testing.T) string {
	t.Helper()
	nodes := &corev1.NodeList{}
	must(t, kube.List(t.Context(), nodes))
	for _, node := range nodes.Items {
		if !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			return node.Labels[corev1.LabelHostname]
		}
	}
	t.Fatal("no node takes any pod")
	return ""
}

// localVolume returns a volume in a directory of a node, for exactly one claim.
func localVolume(folder, node, namespace, name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: folder},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: name},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: volumesFolder + "/" + folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
}

// onNode runs a script as root in the directory of a node's volumes. The nginx images have a shell.
func onNode(ctx context.Context, namespace, name, node, script string) error {
	folder := corev1.HostPathDirectoryOrCreate
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			NodeSelector:                 map[string]string{corev1.LabelHostname: node},
			SecurityContext:              &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
			Volumes:                      []corev1.Volume{{Name: "volumes", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: volumesFolder, Type: &folder}}}},
			Containers: []corev1.Container{{
				Name: name, Image: newestImage(), ImagePullPolicy: corev1.PullIfNotPresent,
				Command:      []string{"sh", "-c", script},
				VolumeMounts: []corev1.VolumeMount{{Name: "volumes", MountPath: "/volumes"}},
			}},
		},
	}
	if err := kube.Create(ctx, pod); err != nil {
		return err
	}
	_, err := waitEnded(ctx, pod)
	return err
}

// waitEnded waits until a pod has succeeded, and returns its output.
func waitEnded(ctx context.Context, pod *corev1.Pod) (string, error) {
	for {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return "", err
		}
		if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			log, err := clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if phase == corev1.PodFailed {
				err = errors.Join(fmt.Errorf("pod %s has failed: %s", pod.Name, log), err)
			}
			return string(log), err
		}
		if err := sleep(ctx); err != nil {
			return "", fmt.Errorf("pod %s has not ended, it is %s: %w", pod.Name, pod.Status.Phase, err)
		}
	}
}

// TestClaim: a pod as restricted as those of backups can write to a claim, and the next pod reads
// what it wrote.
func TestClaim(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	newClaim(t, namespace, "backups")
	for _, c := range []struct{ name, script, want string }{
		{"writes", `echo hello > /backups/file && id -u`, "101\n"},
		{"reads", `cat /backups/file`, "hello\n"},
	} {
		pod := restrictedPod(namespace, c.name, newestImage())
		pod.Spec.Volumes = []corev1.Volume{{Name: "backups", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backups"},
		}}}
		pod.Spec.Containers[0].Command = []string{"sh", "-c", c.script}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "backups", MountPath: "/backups"}}
		must(t, kube.Create(t.Context(), pod))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got, err := waitEnded(ctx, pod)
		must(t, err)
		if got != c.want {
			t.Errorf("the pod that %s says %q", c.name, got)
		}
	}
}

// needStorageClass skips a test on a cluster that has no such class. The local cluster has one.
func needStorageClass(t *testing.T) {
	t.Helper()
	if storageClass == "" {
		t.Skip("E2E_STORAGE_CLASS names no StorageClass whose volumes have the size of their claims and grow while they are mounted")
	}
}

// TestVolumesGrow: a volume of the local cluster holds what it was requested for and no more, and grows under a running
// pod.
func TestVolumesGrow(t *testing.T) {
	t.Parallel()
	needStorageClass(t)
	namespace := newNamespace(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &storageClass,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("16Mi")}},
		},
	}
	must(t, kube.Create(t.Context(), claim))
	pod := restrictedPod(namespace, "writer", newestImage())
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}}}
	pod.Spec.Containers[0].Command = []string{"sleep", "infinity"}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	must(t, kube.Create(t.Context(), pod))
	eventually(t, "the pod runs", func() error { return running(t, pod) })
	fillVolume(t, pod, "/data/file", resource.MustParse("16Mi"))

	update(t, claim, func() { claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("32Mi") })
	eventually(t, "the claim has the requested capacity", func() error {
		if err := get(t, claim); err != nil {
			return err
		}
		resizing := slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
			return c.Type == corev1.PersistentVolumeClaimResizing || c.Type == corev1.PersistentVolumeClaimFileSystemResizePending
		})
		if resizing || claim.Status.Capacity.Storage().Cmp(resource.MustParse("32Mi")) != 0 {
			return fmt.Errorf("its status is %+v", claim.Status)
		}
		return nil
	})
	fillVolume(t, pod, "/data/file", resource.MustParse("32Mi"))
	must(t, running(t, pod))

	must(t, kube.Delete(t.Context(), pod))
	must(t, kube.Delete(t.Context(), claim))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	eventually(t, "the volume is deleted", func() error { return gone(get(t, volume)) })
}

// running returns nil if the first container of a pod is running and has never been restarted.
func running(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	if err := get(t, pod); err != nil {
		return err
	}
	containers := pod.Status.ContainerStatuses
	if len(containers) == 0 || containers[0].State.Running == nil || containers[0].RestartCount > 0 {
		return fmt.Errorf("pod %s is %s: %+v", pod.Name, pod.Status.Phase, containers)
	}
	return nil
}

// fillVolume appends to a file until its volume is full, and fails the test unless it has the given size by then. A file
// system may need up to 1Mi for itself.
func fillVolume(t *testing.T, pod *corev1.Pod, path string, size resource.Quantity) {
	t.Helper()
	output, err := kubectl(t, "exec", "-n", pod.Namespace, pod.Name, "--",
		"sh", "-c", fmt.Sprintf(`cat /dev/zero 2>&1 >> %[1]s; stat --format=%%s %[1]s`, path))
	must(t, err)
	message, number, _ := strings.Cut(strings.TrimSpace(output), "\n")
	written, err := strconv.ParseInt(number, 10, 64)
	if limit := size.Value(); !strings.Contains(message, "No space left on device") || err != nil || written > limit || written < limit-1<<20 {
		t.Fatalf("filling a volume of %s printed %q", &size, output)
	}
}

// sleep waits for a short time, unless the context ends.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
