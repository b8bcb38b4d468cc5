package desired

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
)

// mergePodTemplate lays spec.podTemplate under the operator's template: it adds,
// and where both speak the operator's word stands.
func (in *input) mergePodTemplate(template *corev1ac.PodTemplateSpecApplyConfiguration, s shape) error {
	want := in.nginx.Spec.PodTemplate
	if want == nil {
		want = &v1alpha2.PodTemplate{}
	}
	template.Labels = under(naming.Labels(in.nginx.Name), want.Labels)
	template.Annotations = under(template.Annotations, harmless(want.Annotations))

	pod := template.Spec
	pod.PriorityClassName = want.PriorityClassName
	pod.RuntimeClassName = want.RuntimeClassName
	pod.SchedulerName = want.SchedulerName
	pod.NodeSelector = want.NodeSelector
	for _, secret := range want.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if err := in.mergeScheduling(pod, want); err != nil {
		return err
	}
	if err := mergeNginxContainer(&pod.Containers[0], want); err != nil {
		return err
	}
	if err := mergeVolumes(pod, want.Volumes); err != nil {
		return err
	}
	return mergeContainers(pod, want, s.before05)
}

// appArmorPrefix begins the keys of annotations by which a container gets an AppArmor profile,
// the name of the container follows (https://kubernetes.io/docs/tutorials/security/apparmor/).
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/"

// harmless are the annotations that a user may give to the pods. What a pod is asked to do must
// not come from its template, and no container is let out of its AppArmor profile. The schema
// refuses that, but it has not seen every spec that is stored.
func harmless(annotations map[string]string) map[string]string {
	theirs := maps.Clone(annotations)
	maps.DeleteFunc(theirs, func(key, value string) bool {
		return strings.HasPrefix(key, naming.Prefix) || strings.HasPrefix(key, appArmorPrefix) && value != "runtime/default" && !strings.HasPrefix(value, "localhost/")
	})
	return theirs
}

// under is a copy of ours with what only theirs has.
func under(ours, theirs map[string]string) map[string]string {
	merged := maps.Clone(theirs)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, ours)
	return merged
}

func (in *input) mergeScheduling(pod *corev1ac.PodSpecApplyConfiguration, want *v1alpha2.PodTemplate) error {
	if want.Affinity != nil {
		affinity, err := convert[corev1ac.AffinityApplyConfiguration](want.Affinity)
		if err != nil {
			return err
		}
		pod.WithAffinity(affinity)
	}
	tolerations, err := convertAll[corev1ac.TolerationApplyConfiguration](want.Tolerations)
	if err != nil {
		return err
	}
	pod.WithTolerations(tolerations...)
	constraints, err := convertAll[corev1ac.TopologySpreadConstraintApplyConfiguration](want.TopologySpreadConstraints)
	if err != nil {
		return err
	}
	if len(constraints) == 0 {
		constraints = append(constraints, in.spread())
	}
	pod.WithTopologySpreadConstraints(constraints...)
	return nil
}

func mergeNginxContainer(nginx *corev1ac.ContainerApplyConfiguration, want *v1alpha2.PodTemplate) error {
	nginx.ImagePullPolicy = want.ImagePullPolicy
	env, err := convertAll[corev1ac.EnvVarApplyConfiguration](want.Env)
	if err != nil {
		return err
	}
	mounts, err := convertAll[corev1ac.VolumeMountApplyConfiguration](want.VolumeMounts)
	if err != nil {
		return err
	}
	envFrom, err := convertAll[corev1ac.EnvFromSourceApplyConfiguration](want.EnvFrom)
	if err != nil {
		return err
	}
	nginx.WithEnv(env...).WithEnvFrom(envFrom...).WithVolumeMounts(mounts...)
	return nil
}

func mergeVolumes(pod *corev1ac.PodSpecApplyConfiguration, want []v1alpha2.Volume) error {
	volumes, err := convertAll[corev1ac.VolumeApplyConfiguration](want)
	if err != nil {
		return err
	}
	pod.WithVolumes(volumes...)
	return nil
}

func mergeContainers(pod *corev1ac.PodSpecApplyConfiguration, want *v1alpha2.PodTemplate, beside bool) error {
	for _, c := range want.InitContainers {
		container, err := addedContainer(&c)
		if err != nil {
			return err
		}
		pod.WithInitContainers(container)
	}
	// The kubelet stops what is in spec.containers all at once, while nginx still drains, and
	// init containers that restart only after it
	// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
	for _, c := range want.Containers {
		container, err := addedContainer(&c)
		if err != nil {
			return err
		}
		if beside {
			pod.WithContainers(container)
			continue
		}
		pod.WithInitContainers(container.WithRestartPolicy(corev1.ContainerRestartPolicyAlways))
	}
	return nil
}

func addedContainer(want *v1alpha2.Container) (*corev1ac.ContainerApplyConfiguration, error) {
	container, err := convert[corev1ac.ContainerApplyConfiguration](want)
	if err != nil {
		return nil, err
	}
	for _, probe := range []*corev1ac.ProbeApplyConfiguration{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if probe != nil {
			askThePod(probe.HTTPGet, probe.TCPSocket)
		}
	}
	if hooks := container.Lifecycle; hooks != nil {
		for _, hook := range []*corev1ac.LifecycleHandlerApplyConfiguration{hooks.PostStart, hooks.PreStop} {
			if hook != nil {
				askThePod(hook.HTTPGet, hook.TCPSocket)
			}
		}
	}
	return container.
		WithTerminationMessagePolicy("FallbackToLogsOnError").
		WithSecurityContext(hardened(want.RunAsUser)), nil
}

// askThePod keeps the kubelet from asking another machine in place of the pod, from a network that
// the pod itself may have no way into. As with harmless, the schema refuses it first.
func askThePod(http *corev1ac.HTTPGetActionApplyConfiguration, tcp *corev1ac.TCPSocketActionApplyConfiguration) {
	if http != nil {
		http.Host = nil
	}
	if tcp != nil {
		tcp.Host = nil
	}
}

func convertAll[T, S any](values []S) ([]*T, error) {
	var converted []*T
	for i := range values {
		v, err := convert[T](values[i])
		if err != nil {
			return nil, err
		}
		converted = append(converted, v)
	}
	return converted, nil
}
