package desired

import (
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
	"example.com/nginx-operator/internal/naming"
)

// Defaults of spec.drain, in seconds.
const (
	defaultDrainDelay   = 5
	defaultDrainTimeout = 30
)

// stopMargin is how much longer than the drain the kubelet waits, in seconds: nginx is
// then told to stop at once, and has to do so.
const stopMargin = 5

// shape is what differs between the templates that releases make of one spec.
type shape struct {
	instanceImage string
	// before05 has additional containers in spec.containers, and no volume for the request
	// log, as releases up to 0.4 had it.
	before05 bool
}

// podTemplate is the template that this release makes of the spec. Where the history of
// the pods is lost, they keep the shape that they have if nothing else differs.
func (in *input) podTemplate() (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	current, err := in.podTemplateOf(shape{instanceImage: in.options.InstanceImage})
	image, live := in.liveInstanceImage(), in.state.LiveTemplate()
	if err != nil || image == "" || in.state.Renew || current.Annotations[naming.AnnotationTemplate] == live {
		return current, err
	}
	for _, earlier := range []shape{{instanceImage: image}, {instanceImage: image, before05: true}} {
		kept, err := in.podTemplateOf(earlier)
		if err != nil || kept.Annotations[naming.AnnotationTemplate] == live {
			return kept, err
		}
	}
	return current, nil
}

func (in *input) liveInstanceImage() string {
	if d := in.state.Deployment(); d != nil {
		for _, c := range d.Spec.Template.Spec.InitContainers {
			if c.Name == naming.InstallContainer {
				return c.Image
			}
		}
	}
	return ""
}

func (in *input) podTemplateOf(s shape) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	template, err := decode[corev1ac.PodTemplateSpecApplyConfiguration]("podtemplate.yaml")
	if err != nil {
		return nil, err
	}
	template.ObjectMetaApplyConfiguration = metav1ac.ObjectMeta()
	if force := in.nginx.Spec.ForceRedeploy; force != nil {
		template.WithAnnotations(map[string]string{naming.AnnotationForceRedeploy: *force})
	}
	pod := template.Spec
	pod.WithServiceAccountName(naming.ServiceAccount(in.nginx.Name))
	pod.InitContainers[0].WithImage(s.instanceImage)
	in.setNginx(&pod.Containers[0])
	if err := in.setResources(pod); err != nil {
		return nil, err
	}
	in.setConfig(pod)
	in.setContent(pod)
	in.setCertificates(pod)
	if !s.before05 && in.measuresRequests() {
		in.setRequestLog(pod)
	}
	in.setDrain(pod)
	if err := in.mergePodTemplate(template, s); err != nil {
		return nil, err
	}
	return template, markTemplate(template)
}

// markTemplate lets a pod tell which template it was made from, whatever an admission
// webhook has changed in the pod.
func markTemplate(template *corev1ac.PodTemplateSpecApplyConfiguration) error {
	text, err := json.Marshal(template)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	template.WithAnnotations(map[string]string{naming.AnnotationTemplate: hex.EncodeToString(sum[:8])})
	return nil
}

func (in *input) setNginx(nginx *corev1ac.ContainerApplyConfiguration) {
	nginx.WithImage(in.image()).WithCommand(in.command()...)
	for _, p := range ports(&in.nginx.Spec) {
		nginx.WithPorts(corev1ac.ContainerPort().
			WithName(p.Name).
			WithContainerPort(p.Port).
			WithProtocol(p.Protocol))
	}
}

// setResources gives the init container what nginx has: it costs nothing, since nginx
// runs after it, and a quota that asks for limits asks them of every container.
func (in *input) setResources(pod *corev1ac.PodSpecApplyConfiguration) error {
	if in.nginx.Spec.Resources == nil {
		return nil
	}
	for _, c := range []*corev1ac.ContainerApplyConfiguration{&pod.InitContainers[0], &pod.Containers[0]} {
		resources, err := convert[corev1ac.ResourceRequirementsApplyConfiguration](in.nginx.Spec.Resources)
		if err != nil {
			return err
		}
		c.WithResources(resources)
	}
	return nil
}

// command starts the instance manager as PID 1.
func (in *input) command() []string {
	delay, timeout := in.drain()
	command := []string{
		path.Join(instanceapi.DirBin, instanceapi.Program), "run",
		fmt.Sprintf("--drain-delay=%ds", delay),
		fmt.Sprintf("--drain-timeout=%ds", timeout),
	}
	if !in.measuresRequests() {
		command = append(command, "--request-metrics=false")
	}
	for _, p := range ports(&in.nginx.Spec) {
		command = append(command, fmt.Sprintf("--port=%s:%d/%s", p.Name, p.Port, p.Protocol))
	}
	for _, c := range in.certificates() {
		command = append(command, "--certificate="+c.Name)
	}
	for _, dir := range in.reloadFolders() {
		// Kubernetes expands $(NAME) in a command, and not in a mountPath.
		command = append(command, "--reload-on="+strings.ReplaceAll(dir, "$", "$$"))
	}
	return command
}

// reloadFolders are where nginx finds the volumes of reloadOn, sorted: the order in the spec means
// nothing. All mounts of a volume show the same files, so one of them is enough.
func (in *input) reloadFolders() []string {
	template := ptr.Deref(in.nginx.Spec.PodTemplate, v1alpha2.PodTemplate{})
	first := map[string]string{}
	for _, m := range template.VolumeMounts {
		known, ok := first[m.Name]
		if ptr.Deref(m.SubPath, "") == "" && slices.Contains(template.ReloadOn, m.Name) && (!ok || m.MountPath < known) {
			first[m.Name] = m.MountPath
		}
	}
	return slices.Sorted(maps.Values(first))
}

func (in *input) measuresRequests() bool {
	return ptr.Deref(ptr.Deref(in.nginx.Spec.Metrics, v1alpha2.Metrics{}).Requests, true)
}

// requestLog is the name of the volume of the request log.
const requestLog = "request-log"

// setRequestLog mounts memory for nginx's log of requests, which the instance manager reads
// and discards several times a second. The limit is what a reader that stands still can
// cost; nginx drops lines then. The name was not always the operator's: where the user has
// a volume of that name, the log is in the scratch space.
func (in *input) setRequestLog(pod *corev1ac.PodSpecApplyConfiguration) {
	theirs := ptr.Deref(in.nginx.Spec.PodTemplate, v1alpha2.PodTemplate{}).Volumes
	if slices.ContainsFunc(theirs, func(v v1alpha2.Volume) bool { return v.Name == requestLog }) {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName(requestLog).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse("8Mi"))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(requestLog).WithMountPath(instanceapi.DirRequestLog))
}

func (in *input) drain() (delay, timeout int32) {
	drain := ptr.Deref(in.nginx.Spec.Drain, v1alpha2.Drain{})
	return ptr.Deref(drain.DelaySeconds, defaultDrainDelay), ptr.Deref(drain.TimeoutSeconds, defaultDrainTimeout)
}

func (in *input) setDrain(pod *corev1ac.PodSpecApplyConfiguration) {
	delay, timeout := in.drain()
	pod.WithTerminationGracePeriodSeconds(int64(delay + timeout + stopMargin))
}

// setConfig mounts the stable configuration and the candidate.
func (in *input) setConfig(pod *corev1ac.PodSpecApplyConfiguration) {
	pod.WithVolumes(
		corev1ac.Volume().WithName("config").
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(naming.ConfigMap(in.nginx.Name))),
		corev1ac.Volume().WithName("config-next").
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(naming.ConfigMapNext(in.nginx.Name)).WithOptional(true)))
}

// setContent mounts the static files. Neither the names nor the order of the
// volumes depend on the order in the spec, which means nothing.
func (in *input) setContent(pod *corev1ac.PodSpecApplyConfiguration) {
	content := slices.SortedFunc(slices.Values(in.nginx.Spec.Content), func(a, b v1alpha2.Content) int {
		return strings.Compare(a.MountPath, b.MountPath)
	})
	for _, c := range content {
		volume := corev1ac.Volume().WithName(naming.ContentVolume(c.MountPath))
		switch {
		case c.ConfigMap != nil:
			// Optional: a missing one is reported, it does not hold the pods back.
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

// certificates are those of spec.tls in the order of their names: the order in the
// spec means nothing.
func (in *input) certificates() []v1alpha2.Certificate {
	return slices.SortedFunc(slices.Values(in.nginx.Spec.TLS), func(a, b v1alpha2.Certificate) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// setCertificates mounts the Secrets where the instance manager looks for them, and
// memory from which nginx reads the last good pair.
func (in *input) setCertificates(pod *corev1ac.PodSpecApplyConfiguration) {
	certificates := in.certificates()
	if len(certificates) == 0 {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName("certificates").
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse("16Mi"))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName("certificates").WithMountPath(instanceapi.DirTLS))
	for _, c := range certificates {
		name := naming.CertificateVolume(c.Name)
		// Optional: a missing one is reported, it does not hold the pods back.
		pod.WithVolumes(corev1ac.Volume().WithName(name).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(c.SecretName).WithOptional(true)))
		pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(name).
			WithMountPath(path.Join(instanceapi.DirSecrets, c.Name)).WithReadOnly(true))
	}
}

// spread asks the scheduler to put pods of one template on different nodes, if it can.
func (in *input) spread() *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(corev1.LabelHostname).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(in.selector()).
		WithMatchLabelKeys("pod-template-hash")
}

// hardened is the security context of every container that a user adds.
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
