package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/container"
)

// instanceVolume is the volume into which the init container would copy the instance manager.
const instanceVolume = "instance"

// mounts are the volumes of a pod, as directories of this machine.
type mounts struct {
	dir  string
	read client.Reader
	// last holds the files of the last update.
	last map[string]map[string]string
}

func (v *mounts) folder(name string) string { return filepath.Join(v.dir, "volumes", name) }

func (v *mounts) terminationLog() string { return filepath.Join(v.dir, "termination-log") }

// clear empties the termination log of a container.
func (v *mounts) clear() error {
	if err := os.WriteFile(v.terminationLog(), nil, 0o666); err != nil {
		return err
	}
	return os.Chmod(v.terminationLog(), 0o666)
}

// terminationMessage returns a container's termination message: the termination log or, if that is empty, the end
// of the container's log.
func (v *mounts) terminationMessage(output *tail) string {
	text, err := os.ReadFile(v.terminationLog())
	if err != nil {
		return err.Error()
	}
	if len(text) == 0 {
		return output.String()
	}
	return string(text)
}

// update updates all volumes. It returns a NotFound error if a required object is missing.
func (v *mounts) update(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.EmptyDir != nil {
			if err := v.scratch(pod, volume.Name); err != nil {
				return err
			}
			continue
		}
		files, err := v.files(ctx, pod, volume)
		if err != nil {
			return fmt.Errorf("mount %s: %w", volume.Name, err)
		}
		if last, mounted := v.last[volume.Name]; mounted && maps.Equal(last, files) {
			continue
		}
		if err := container.Publish(v.folder(volume.Name), files); err != nil {
			return err
		}
		v.last[volume.Name] = files
	}
	return nil
}

// scratch creates a directory that every user can write to, with the subdirectories that are
// mounted.
func (v *mounts) scratch(pod *corev1.Pod, name string) error {
	folders := []string{v.folder(name)}
	for _, c := range pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if c.Name == naming.NginxContainer && m.Name == name && m.SubPath != "" {
				folders = append(folders, filepath.Join(v.folder(name), m.SubPath))
			}
		}
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	return nil
}

// files returns the files of a volume.
func (v *mounts) files(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (map[string]string, error) {
	switch {
	case volume.ConfigMap != nil && len(volume.ConfigMap.Items) == 0:
		cm := &corev1.ConfigMap{}
		err := v.read.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: volume.ConfigMap.Name}, cm)
		return text(cm.Data, cm.BinaryData), missing(err, volume.ConfigMap.Optional)
	case volume.Secret != nil && len(volume.Secret.Items) == 0:
		secret := &corev1.Secret{}
		err := v.read.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: volume.Secret.SecretName}, secret)
		return text(nil, secret.Data), missing(err, volume.Secret.Optional)
	}
	return nil, fmt.Errorf("the node does not know such a volume: %+v", volume.VolumeSource)
}

// missing returns err, unless the object may be missing.
func missing(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && ptr.Deref(optional, false) {
		return nil
	}
	return err
}

func text(data map[string]string, binary map[string][]byte) map[string]string {
	files := map[string]string{}
	maps.Copy(files, data)
	for name, content := range binary {
		files[name] = string(content)
	}
	return files
}
