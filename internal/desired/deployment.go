package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
)

// configDir is where the rendered configuration is mounted, as in deployment.yaml.
const configDir = "/etc/nginx-operator/config"

// deployment runs the nginx pods.
func deployment(in *input) (object, error) {
	d, err := decode[appsv1ac.DeploymentApplyConfiguration]("deployment.yaml")
	if err != nil {
		return object{}, err
	}
	d.ObjectMetaApplyConfiguration = in.meta(naming.Deployment(in.nginx.Name))
	d.Spec.WithSelector(in.selector())
	d.Spec.Replicas = in.replicas()
	in.setRollout(d.Spec)

	template := d.Spec.Template
	template.ObjectMetaApplyConfiguration = metav1ac.ObjectMeta().
		WithAnnotations(map[string]string{naming.AnnotationConfig: in.config.Revision})
	template.Spec.WithServiceAccountName(naming.ServiceAccount(in.nginx.Name))
	in.setNginx(&template.Spec.Containers[0])
	in.setConfig(template.Spec)
	in.setContent(template.Spec)
	if force := in.nginx.Spec.ForceRedeploy; force != nil {
		template.WithAnnotations(map[string]string{naming.AnnotationForceRedeploy: *force})
	}
	if in.nginx.Spec.Resources != nil {
		resources, err := convert[corev1ac.ResourceRequirementsApplyConfiguration](in.nginx.Spec.Resources)
		if err != nil {
			return object{}, err
		}
		template.Spec.Containers[0].WithResources(resources)
	}
	if err := in.mergePodTemplate(template); err != nil {
		return object{}, err
	}
	if err := markTemplate(template); err != nil {
		return object{}, err
	}
	return object{d, d.ObjectMetaApplyConfiguration}, nil
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

func (in *input) setRollout(spec *appsv1ac.DeploymentSpecApplyConfiguration) {
	want := in.nginx.Spec.Rollout
	if want == nil {
		return
	}
	if want.MaxSurge != nil {
		spec.Strategy.RollingUpdate.WithMaxSurge(*want.MaxSurge)
	}
	if want.MaxUnavailable != nil {
		spec.Strategy.RollingUpdate.WithMaxUnavailable(*want.MaxUnavailable)
	}
	if want.MinReadySeconds != nil {
		spec.WithMinReadySeconds(*want.MinReadySeconds)
	}
	if want.ProgressDeadlineSeconds != nil {
		spec.WithProgressDeadlineSeconds(*want.ProgressDeadlineSeconds)
	}
}

func (in *input) setNginx(nginx *corev1ac.ContainerApplyConfiguration) {
	// -e: the error log must not be a file of the image before the configuration is read.
	nginx.WithImage(in.image()).
		WithCommand("nginx", "-e", "stderr", "-c", path.Join(configDir, in.config.Main), "-g", "daemon off;")
	for _, p := range in.ports() {
		nginx.WithPorts(corev1ac.ContainerPort().
			WithName(p.Name).
			WithContainerPort(p.Port).
			WithProtocol(p.Protocol))
	}
	in.setProbes(nginx)
}

// setProbes aims the probes at the first TCP port: a connection proves that nginx
// runs with a configuration that listens there. UDP answers no probe.
func (in *input) setProbes(nginx *corev1ac.ContainerApplyConfiguration) {
	for _, p := range in.ports() {
		if p.Protocol != corev1.ProtocolUDP {
			port := intstr.FromString(p.Name)
			nginx.StartupProbe.WithTCPSocket(corev1ac.TCPSocketAction().WithPort(port))
			nginx.ReadinessProbe.WithTCPSocket(corev1ac.TCPSocketAction().WithPort(port))
			return
		}
	}
	nginx.StartupProbe, nginx.ReadinessProbe = nil, nil
}

func (in *input) setConfig(pod *corev1ac.PodSpecApplyConfiguration) {
	pod.WithVolumes(corev1ac.Volume().
		WithName("config").
		WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(naming.ConfigMap(in.nginx.Name, in.config.Revision))))
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
