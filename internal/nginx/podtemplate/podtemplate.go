// Package podtemplate builds the template of an application's pods. It is pure.
package podtemplate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/podsettings"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Defaults of spec.drain, in seconds.
const (
	defaultDrainDelay   = 5
	defaultDrainTimeout = 30
)

// stopMargin is how much longer than the drain the kubelet waits, in seconds: nginx is then signalled to stop at once, and
// has to do so.
const stopMargin = 5

// shape is how the templates differ that releases make of one spec.
type shape struct {
	instanceImage string
	// before05 has additional containers in spec.containers, no volume for the request log, and requests of the
	// operator in annotations, as in releases up to 0.4.
	before05 bool
}

// Options are the images of the operator's release, and what the cluster requires of pods.
type Options struct {
	// DefaultImage runs where spec.image is unset.
	DefaultImage string
	// InstanceImage contains the instance manager. An init container copies it into every pod.
	InstanceImage string
	podsettings.Settings
	// Claims are the names of the volume claims of a StatefulSet, which are not in the template. The spec can mount them,
	// and nginx writes to them.
	Claims []string
}

// Template is the pod template type of this package.
type Template = corev1ac.PodTemplateSpecApplyConfiguration

// builder holds what the functions of this package read.
type builder struct {
	nginx   *v1alpha2.NginxOperator
	options Options
}

// newBuilder returns a builder that knows only the declared volumes of a spec.
func newBuilder(nginx *v1alpha2.NginxOperator, options Options) *builder {
	if kept, found := WithoutUndeclared(nginx.Spec.PodTemplate, options.Claims...); len(found) > 0 {
		copied := *nginx
		copied.Spec.PodTemplate = kept
		nginx = &copied
	}
	return &builder{nginx, options}
}

// Build returns the template that this release makes of a spec.
func Build(nginx *v1alpha2.NginxOperator, options Options) (*Template, error) {
	return newBuilder(nginx, options).podTemplateOf(shape{instanceImage: options.InstanceImage})
}

// BuildLike returns the template of a live workload if this release or an earlier one makes it of the
// spec, and otherwise that of Build. It keeps pods from being replaced where their history is lost.
func BuildLike(live *corev1.PodTemplateSpec, nginx *v1alpha2.NginxOperator, options Options) (*Template, error) {
	b := newBuilder(nginx, options)
	current, err := Build(nginx, options)
	image := LiveInstanceImage(live)
	if err != nil || image == "" || Hash(current) == live.Annotations[naming.AnnotationTemplate] {
		return current, err
	}
	for _, earlier := range []shape{{instanceImage: image}, {instanceImage: image, before05: true}} {
		kept, err := b.podTemplateOf(earlier)
		if err != nil || Hash(kept) == live.Annotations[naming.AnnotationTemplate] {
			return kept, err
		}
	}
	return current, nil
}

// Hash returns the hash that identifies a template.
func Hash(t *Template) string { return t.Annotations[naming.AnnotationTemplate] }

// TakesOrders reports whether the instance managers of a template take orders. Those of releases before 0.5 do not.
func TakesOrders(t *Template) bool {
	if t == nil || t.Spec == nil {
		return false
	}
	for _, c := range t.Spec.Containers {
		if ptr.Deref(c.Name, "") == naming.NginxContainer {
			return slices.ContainsFunc(c.Env, func(e corev1ac.EnvVarApplyConfiguration) bool { return ptr.Deref(e.Name, "") == instanceapi.EnvPodUID })
		}
	}
	return false
}

// Image returns the image of the nginx container.
func Image(t *Template) string {
	for _, c := range t.Spec.Containers {
		if c.Name != nil && *c.Name == naming.NginxContainer && c.Image != nil {
			return *c.Image
		}
	}
	return ""
}

// Ports returns the ports of a spec: http, 80/TCP by default.
func Ports(spec *v1alpha2.NginxOperatorSpec) []v1alpha2.Port {
	if len(spec.Ports) == 0 {
		return []v1alpha2.Port{{Name: "http", Port: 80, Protocol: "TCP"}}
	}
	return spec.Ports
}

// TargetPort returns the number that nginx listens on.
func TargetPort(p v1alpha2.Port) int32 { return ptr.Deref(p.TargetPort, p.Port) }

// ServiceAccount returns the name of the pods' ServiceAccount.
func ServiceAccount(nginx *v1alpha2.NginxOperator) string {
	if account := nginx.Spec.ServiceAccount; account != nil && account.Name != nil {
		return *account.Name
	}
	return naming.ServiceAccount(nginx.Name)
}

// LiveInstanceImage returns the image from which the pods of a live template get the instance manager; empty: it is unknown.
func LiveInstanceImage(live *corev1.PodTemplateSpec) string {
	if live != nil {
		for _, c := range live.Spec.InitContainers {
			if c.Name == naming.InstallContainer {
				return c.Image
			}
		}
	}
	return ""
}

func (b *builder) podTemplateOf(s shape) (*Template, error) {
	template, err := manifests.Decode[corev1ac.PodTemplateSpecApplyConfiguration]("podtemplate.yaml")
	if err != nil {
		return nil, err
	}
	template.ObjectMetaApplyConfiguration = metav1ac.ObjectMeta()
	if force := b.nginx.Spec.ForceRedeploy; force != nil {
		template.WithAnnotations(map[string]string{naming.AnnotationForceRedeploy: *force})
	}
	pod := template.Spec
	b.setIDs(pod.SecurityContext, s)
	pod.WithServiceAccountName(ServiceAccount(b.nginx))
	pod.InitContainers[0].WithImage(s.instanceImage)
	b.setNginx(&pod.Containers[0])
	if err := b.setResources(pod); err != nil {
		return nil, err
	}
	b.setConfig(pod)
	if s.before05 {
		b.setRequests(pod)
	} else {
		b.setPodUID(pod)
	}
	b.setVariables(pod)
	b.setContent(pod)
	b.setCertificates(pod)
	if !s.before05 && b.measuresRequests() {
		b.setRequestLog(pod)
	}
	b.setDrain(pod)
	if err := b.mergePodTemplate(template, s); err != nil {
		return nil, err
	}
	return template, markTemplate(template)
}

// markTemplate makes a pod show which template it was created from, whatever an admission webhook changed in the pod.
func markTemplate(template *corev1ac.PodTemplateSpecApplyConfiguration) error {
	text, err := json.Marshal(template)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	template.WithAnnotations(map[string]string{naming.AnnotationTemplate: hex.EncodeToString(sum[:8])})
	return nil
}

func (b *builder) setNginx(nginx *corev1ac.ContainerApplyConfiguration) {
	nginx.WithImage(cmp.Or(ptr.Deref(b.nginx.Spec.Image, ""), b.options.DefaultImage)).WithCommand(b.command()...)
	for _, p := range Ports(&b.nginx.Spec) {
		nginx.WithPorts(corev1ac.ContainerPort().
			WithName(p.Name).
			WithContainerPort(TargetPort(p)).
			WithProtocol(p.Protocol))
	}
}

// setResources gives the init container the resources of nginx. This costs nothing, because nginx runs after it, and
// a quota that requires limits requires them of every container.
func (b *builder) setResources(pod *corev1ac.PodSpecApplyConfiguration) error {
	if b.nginx.Spec.Resources == nil {
		return nil
	}
	for _, c := range []*corev1ac.ContainerApplyConfiguration{&pod.InitContainers[0], &pod.Containers[0]} {
		resources, err := convert[corev1ac.ResourceRequirementsApplyConfiguration](b.nginx.Spec.Resources)
		if err != nil {
			return err
		}
		c.WithResources(resources)
	}
	return nil
}

// command starts the instance manager as PID 1.
func (b *builder) command() []string {
	delay, timeout := b.drain()
	command := []string{
		path.Join(instanceapi.DirBin, instanceapi.Program), "run",
		fmt.Sprintf("--drain-delay=%ds", delay),
		fmt.Sprintf("--drain-timeout=%ds", timeout),
	}
	if !b.measuresRequests() {
		command = append(command, "--request-metrics=false")
	}
	for _, p := range Ports(&b.nginx.Spec) {
		command = append(command, fmt.Sprintf("--port=%s:%d/%s", p.Name, TargetPort(p), p.Protocol))
	}
	for _, c := range b.sortedCertificates() {
		command = append(command, "--certificate="+c.Name)
	}
	for _, dir := range slices.Concat(b.variableFolders(), b.reloadFolders()) {
		// Kubernetes expands $(NAME) in a command, and not in a mountPath.
		command = append(command, "--reload-on="+strings.ReplaceAll(dir, "$", "$$"))
	}
	return command
}

// reloadFolders returns where nginx finds the volumes of reloadOn, sorted: the order in the spec has no meaning. All
// mounts of a volume show the same files, so one of them is enough.
func (b *builder) reloadFolders() []string {
	template := ptr.Deref(b.nginx.Spec.PodTemplate, v1alpha2.PodTemplate{})
	first := map[string]string{}
	for _, m := range template.VolumeMounts {
		known, ok := first[m.Name]
		if ptr.Deref(m.SubPath, "") == "" && slices.Contains(template.ReloadOn, m.Name) && (!ok || m.MountPath < known) {
			first[m.Name] = m.MountPath
		}
	}
	return slices.Sorted(maps.Values(first))
}

func (b *builder) measuresRequests() bool {
	return ptr.Deref(ptr.Deref(b.nginx.Spec.Metrics, v1alpha2.Metrics{}).Requests, true)
}

// setRequestLog mounts memory for nginx's log of requests, which the instance manager reads and discards several
// times a second. The limit bounds what a stalled reader can cost; nginx then drops lines. The volume name was not
// always reserved: if the user has a volume of that name, the log is in the scratch space.
func (b *builder) setRequestLog(pod *corev1ac.PodSpecApplyConfiguration) {
	theirs := ptr.Deref(b.nginx.Spec.PodTemplate, v1alpha2.PodTemplate{}).Volumes
	if slices.ContainsFunc(theirs, func(v v1alpha2.Volume) bool { return v.Name == naming.VolumeRequestLog }) {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName(naming.VolumeRequestLog).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse("8Mi"))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(naming.VolumeRequestLog).WithMountPath(instanceapi.DirRequestLog))
}

func (b *builder) drain() (delay, timeout int32) {
	drain := ptr.Deref(b.nginx.Spec.Drain, v1alpha2.Drain{})
	return ptr.Deref(drain.DelaySeconds, defaultDrainDelay), ptr.Deref(drain.TimeoutSeconds, defaultDrainTimeout)
}

func (b *builder) setDrain(pod *corev1ac.PodSpecApplyConfiguration) {
	delay, timeout := b.drain()
	pod.WithTerminationGracePeriodSeconds(int64(delay + timeout + stopMargin))
}

// setConfig mounts the stable configuration and the candidate.
func (b *builder) setConfig(pod *corev1ac.PodSpecApplyConfiguration) {
	pod.WithVolumes(
		corev1ac.Volume().WithName(naming.VolumeConfig).
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(naming.ConfigMap(b.nginx.Name))),
		corev1ac.Volume().WithName(naming.VolumeConfigNext).
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(naming.ConfigMapNext(b.nginx.Name)).WithOptional(true)))
}

// setPodUID gives the instance manager the UID of its pod, for which the operator's orders must be.
func (b *builder) setPodUID(pod *corev1ac.PodSpecApplyConfiguration) {
	pod.Containers[0].WithEnv(corev1ac.EnvVar().WithName(instanceapi.EnvPodUID).
		WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.uid"))))
}

// setRequests mounts the annotations by which pods of releases before 0.5 take requests.
func (b *builder) setRequests(pod *corev1ac.PodSpecApplyConfiguration) {
	file := func(path, annotation string) *corev1ac.DownwardAPIVolumeFileApplyConfiguration {
		return corev1ac.DownwardAPIVolumeFile().WithPath(path).
			WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + annotation + "']"))
	}
	volume := corev1ac.Volume().WithName(naming.VolumeRequests).WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(
		file(instanceapi.FileTest, naming.AnnotationConfigTest),
		file(instanceapi.FileLoad, naming.AnnotationConfig),
		file(instanceapi.FileTokenHash, naming.AnnotationConfigTokenHash)))
	mount := corev1ac.VolumeMount().WithName(naming.VolumeRequests).WithMountPath(instanceapi.DirRequests).WithReadOnly(true)
	// Their order is part of what identifies a template.
	nginx := &pod.Containers[0]
	pod.Volumes = slices.Insert(pod.Volumes, 1, *volume)
	nginx.VolumeMounts = slices.Insert(nginx.VolumeMounts, 3, *mount)
}

// setContent mounts the static files. Neither the names nor the order of the volumes depend on the order in the spec,
// which has no meaning.
func (b *builder) setContent(pod *corev1ac.PodSpecApplyConfiguration) {
	content := slices.SortedFunc(slices.Values(b.nginx.Spec.Content), func(a, b v1alpha2.Content) int {
		return strings.Compare(a.MountPath, b.MountPath)
	})
	for _, c := range content {
		volume := corev1ac.Volume().WithName(naming.ContentVolume(c.MountPath))
		switch {
		case c.ConfigMap != nil:
			// Optional: a missing one is reported, and does not hold the pods back.
			volume.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(c.ConfigMap.Name).WithOptional(true))
		case c.PersistentVolumeClaim != nil:
			volume.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().
				WithClaimName(c.PersistentVolumeClaim.ClaimName).WithReadOnly(true))
		case c.Image != nil:
			volume.WithImage(corev1ac.ImageVolumeSource().WithReference(c.Image.Reference))
			volume.Image.PullPolicy = c.Image.PullPolicy
		}
		pod.WithVolumes(volume)
		pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().
			WithName(*volume.Name).WithMountPath(c.MountPath).WithReadOnly(true))
	}
}

// sortedCertificates returns those of spec.tls in the order of their names: the order in the spec has no meaning.
func (b *builder) sortedCertificates() []v1alpha2.Certificate {
	return slices.SortedFunc(slices.Values(b.nginx.Spec.TLS), func(a, b v1alpha2.Certificate) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// setCertificates mounts the Secrets where the instance manager expects them, and memory from which nginx reads the
// last good pair.
func (b *builder) setCertificates(pod *corev1ac.PodSpecApplyConfiguration) {
	certificates := b.sortedCertificates()
	if len(certificates) == 0 {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName(naming.VolumeCertificates).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse("16Mi"))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(naming.VolumeCertificates).WithMountPath(instanceapi.DirTLS))
	for _, c := range certificates {
		name := naming.CertificateVolume(c.Name)
		// Optional: a missing one is reported, and does not hold the pods back.
		pod.WithVolumes(corev1ac.Volume().WithName(name).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(c.SecretName).WithOptional(true)))
		pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(name).
			WithMountPath(path.Join(instanceapi.DirSecrets, c.Name)).WithReadOnly(true))
	}
}

// spread asks the scheduler to place pods of one template on different nodes, if possible.
func (b *builder) spread() *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(corev1.LabelHostname).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(naming.SelectorLabels(b.nginx.Name))).
		WithMatchLabelKeys("pod-template-hash")
}

// hardened returns the security context of every container that a user adds.
func hardened(user *int64) *corev1ac.SecurityContextApplyConfiguration {
	c := corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
		WithReadOnlyRootFilesystem(true)
	if user != nil {
		c.WithRunAsUser(*user)
	}
	return c
}
