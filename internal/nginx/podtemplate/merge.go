package podtemplate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// mergePodTemplate merges spec.podTemplate into the operator's template: it adds, and the operator's value wins where
// both have one.
func (b *builder) mergePodTemplate(template *corev1ac.PodTemplateSpecApplyConfiguration, s shape) error {
	want := b.nginx.Spec.PodTemplate
	if want == nil {
		want = &v1alpha2.PodTemplate{}
	}
	template.Labels = mergeMaps(naming.Labels(b.nginx.Name), want.Labels)
	template.Annotations = mergeMaps(template.Annotations, harmless(want.Annotations))
	if !s.before05 {
		setSafeToEvict(template)
	}

	pod := template.Spec
	pod.PriorityClassName = want.PriorityClassName
	pod.RuntimeClassName = want.RuntimeClassName
	pod.SchedulerName = want.SchedulerName
	pod.NodeSelector = want.NodeSelector
	for _, name := range b.imagePullSecrets(want) {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	if err := mergeNames(pod, want); err != nil {
		return err
	}
	if err := b.mergeScheduling(pod, want); err != nil {
		return err
	}
	if err := mergeNginxContainer(&pod.Containers[0], want); err != nil {
		return err
	}
	if err := addVolumes(pod, want.Volumes); err != nil {
		return err
	}
	return mergeContainers(pod, want, s.before05)
}

// imagePullSecrets returns the names of the Secrets for the registries, each once: those of the operator, which pulls the
// image of the instance manager with them, and those of the spec. The order in spec.imagePullSecrets has no meaning: the
// kubelet tries all of them.
func (b *builder) imagePullSecrets(want *v1alpha2.PodTemplate) []string {
	names := slices.Clone(b.options.ImagePullSecrets)
	own := slices.SortedFunc(slices.Values(b.nginx.Spec.ImagePullSecrets), func(a, b v1alpha2.SecretReference) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, secret := range slices.Concat(own, want.ImagePullSecrets) {
		if !slices.Contains(names, secret.Name) {
			names = append(names, secret.Name)
		}
	}
	return names
}

// annotationSafeToEvict names volumes whose content a cluster autoscaler may discard when it removes a node
// (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md).
const annotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// setSafeToEvict lets a cluster autoscaler remove the node of a pod whose only local volumes are the operator's. What a
// user says of the volumes stays.
func setSafeToEvict(template *corev1ac.PodTemplateSpecApplyConfiguration) {
	if _, said := template.Annotations[annotationSafeToEvict]; said {
		return
	}
	var names []string
	for _, v := range template.Spec.Volumes {
		// Those in memory need no permission.
		if v.EmptyDir != nil && ptr.Deref(v.EmptyDir.Medium, "") != corev1.StorageMediumMemory {
			names = append(names, *v.Name)
		}
	}
	template.WithAnnotations(map[string]string{annotationSafeToEvict: strings.Join(names, ",")})
}

// mergeNames merges how the pods find names.
func mergeNames(pod *corev1ac.PodSpecApplyConfiguration, want *v1alpha2.PodTemplate) error {
	pod.DNSPolicy = want.DNSPolicy
	aliases, err := ConvertAll[corev1ac.HostAliasApplyConfiguration](want.HostAliases)
	if err != nil {
		return err
	}
	pod.WithHostAliases(aliases...)
	if want.DNSConfig != nil {
		pod.DNSConfig, err = convert[corev1ac.PodDNSConfigApplyConfiguration](want.DNSConfig)
	}
	return err
}

// appArmorPrefix is the prefix of annotations that give a container an AppArmor profile; the container's name follows
// (https://kubernetes.io/docs/tutorials/security/apparmor/).
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/"

// harmless returns the annotations that a user may give to the pods. Requests to a pod must not come from its
// template, and no container may leave its AppArmor profile. The schema refuses these, but it has not validated every
// spec that is stored.
func harmless(annotations map[string]string) map[string]string {
	theirs := maps.Clone(annotations)
	maps.DeleteFunc(theirs, func(key, value string) bool {
		return strings.HasPrefix(key, naming.Prefix) || strings.HasPrefix(key, appArmorPrefix) && value != "runtime/default" && !strings.HasPrefix(value, "localhost/")
	})
	return theirs
}

// mergeMaps returns a copy of ours with the keys that only theirs has.
func mergeMaps(ours, theirs map[string]string) map[string]string {
	merged := maps.Clone(theirs)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, ours)
	return merged
}

func (b *builder) mergeScheduling(pod *corev1ac.PodSpecApplyConfiguration, want *v1alpha2.PodTemplate) error {
	if want.Affinity != nil {
		affinity, err := convert[corev1ac.AffinityApplyConfiguration](want.Affinity)
		if err != nil {
			return err
		}
		pod.WithAffinity(affinity)
	}
	tolerations, err := ConvertAll[corev1ac.TolerationApplyConfiguration](want.Tolerations)
	if err != nil {
		return err
	}
	pod.WithTolerations(tolerations...)
	constraints, err := ConvertAll[corev1ac.TopologySpreadConstraintApplyConfiguration](want.TopologySpreadConstraints)
	if err != nil {
		return err
	}
	if len(constraints) == 0 {
		constraints = append(constraints, b.spread())
	}
	pod.WithTopologySpreadConstraints(constraints...)
	return nil
}

func mergeNginxContainer(nginx *corev1ac.ContainerApplyConfiguration, want *v1alpha2.PodTemplate) error {
	nginx.ImagePullPolicy = want.ImagePullPolicy
	env, err := ConvertAll[corev1ac.EnvVarApplyConfiguration](want.Env)
	if err != nil {
		return err
	}
	mounts, err := ConvertAll[corev1ac.VolumeMountApplyConfiguration](want.VolumeMounts)
	if err != nil {
		return err
	}
	envFrom, err := ConvertAll[corev1ac.EnvFromSourceApplyConfiguration](want.EnvFrom)
	if err != nil {
		return err
	}
	// The operator's own value wins.
	env = slices.DeleteFunc(env, func(e *corev1ac.EnvVarApplyConfiguration) bool { return *e.Name == instanceapi.EnvPodUID })
	nginx.WithEnv(env...).WithEnvFrom(envFrom...).WithVolumeMounts(mounts...)
	return nil
}

func addVolumes(pod *corev1ac.PodSpecApplyConfiguration, want []v1alpha2.Volume) error {
	volumes, err := ConvertAll[corev1ac.VolumeApplyConfiguration](want)
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
	// The kubelet stops all of spec.containers at the same time, while nginx still drains, and init containers that
	// restart only after them (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
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
			restrictProbeHost(probe.HTTPGet, probe.TCPSocket)
		}
	}
	if hooks := container.Lifecycle; hooks != nil {
		for _, hook := range []*corev1ac.LifecycleHandlerApplyConfiguration{hooks.PostStart, hooks.PreStop} {
			if hook != nil {
				restrictProbeHost(hook.HTTPGet, hook.TCPSocket)
			}
		}
	}
	return container.
		WithTerminationMessagePolicy("FallbackToLogsOnError").
		WithSecurityContext(hardened(want.RunAsUser)), nil
}

// restrictProbeHost keeps the kubelet from probing another machine instead of the pod, from a network that the pod
// itself may not reach. As with harmless, the schema refuses it first.
func restrictProbeHost(http *corev1ac.HTTPGetActionApplyConfiguration, tcp *corev1ac.TCPSocketActionApplyConfiguration) {
	if http != nil {
		http.Host = nil
	}
	if tcp != nil {
		tcp.Host = nil
	}
}

// ConvertAll copies values of the API into apply configurations of the same shape.
func ConvertAll[T, S any](values []S) ([]*T, error) {
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

// convert copies a value of the API into the apply configuration of the same shape: both have the
// same JSON.
func convert[T any](value any) (*T, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	converted := new(T)
	if err := json.Unmarshal(text, converted); err != nil {
		return nil, err
	}
	return converted, nil
}
