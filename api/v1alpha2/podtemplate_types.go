package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodTemplate adds to the pods of the application. It has no field that would weaken their
// hardening (privileges, capabilities, host namespaces, host paths, service account tokens).
//
// +kubebuilder:validation:XValidation:rule="!has(self.dnsPolicy) || self.dnsPolicy != 'None' || has(self.dnsConfig) && has(self.dnsConfig.nameservers)",message="podTemplate.dnsPolicy None needs podTemplate.dnsConfig.nameservers: the pods would have no name server"
// +kubebuilder:validation:XValidation:rule="!has(self.reloadOn) || self.reloadOn.all(n, has(self.volumes) && self.volumes.exists(v, v.name == n && (has(v.configMap) || has(v.secret))))",message="every name in podTemplate.reloadOn must be that of a volume of podTemplate.volumes with configMap or secret"
// +kubebuilder:validation:XValidation:rule="!has(self.reloadOn) || self.reloadOn.all(n, has(self.volumeMounts) && self.volumeMounts.exists(m, m.name == n && (!has(m.subPath) || m.subPath.size() == 0)))",message="every volume in podTemplate.reloadOn must be mounted by podTemplate.volumeMounts without subPath: a mount with subPath does not see changes"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",message="podTemplate.volumeMounts[].name must be the name of a volume of podTemplate.volumes: declare it there. The operator's own volumes cannot be mounted"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",message="podTemplate.initContainers[].volumeMounts[].name must be the name of a volume of podTemplate.volumes: declare it there. The operator's own volumes cannot be mounted"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",message="podTemplate.containers[].volumeMounts[].name must be the name of a volume of podTemplate.volumes: declare it there. The operator's own volumes cannot be mounted"
// +kubebuilder:validation:XValidation:rule="!has(self.env) || self.env.all(e, !has(e.valueFrom) || !has(e.valueFrom.fileKeyRef) || has(self.volumes) && self.volumes.exists(v, v.name == e.valueFrom.fileKeyRef.volumeName))",message="podTemplate.env[].valueFrom.fileKeyRef.volumeName must be the name of a volume of podTemplate.volumes: declare it there"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, !has(c.env) || c.env.all(e, !has(e.valueFrom) || !has(e.valueFrom.fileKeyRef) || has(self.volumes) && self.volumes.exists(v, v.name == e.valueFrom.fileKeyRef.volumeName)))",message="podTemplate.initContainers[].env[].valueFrom.fileKeyRef.volumeName must be the name of a volume of podTemplate.volumes: declare it there"
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.all(c, !has(c.env) || c.env.all(e, !has(e.valueFrom) || !has(e.valueFrom.fileKeyRef) || has(self.volumes) && self.volumes.exists(v, v.name == e.valueFrom.fileKeyRef.volumeName)))",message="podTemplate.containers[].env[].valueFrom.fileKeyRef.volumeName must be the name of a volume of podTemplate.volumes: declare it there"
type PodTemplate struct {
	// labels are added to the pods. Keys of operator.example.com and the app.kubernetes.io keys
	// that the operator sets cannot be overridden.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are added to the pods. Keys of operator.example.com cannot be overridden.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('container.apparmor.security.beta.kubernetes.io/') && self[k] != 'runtime/default' && !self[k].startsWith('localhost/'))",message="annotations must not give a container the AppArmor profile unconfined: allowed are runtime/default and localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`
	// nodeSelector picks the nodes that pods may run on.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// affinity of the pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// tolerations of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// topologySpreadConstraints of the pods. Unset: the operator spreads the pods over nodes if
	// possible.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// runtimeClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// schedulerName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SchedulerName *string `json:"schedulerName,omitempty"`
	// dnsPolicy of the pods: ClusterFirst, Default (the node's name servers) or None (only those of
	// dnsConfig). Unset: ClusterFirst.
	// +optional
	// +kubebuilder:validation:Enum=ClusterFirst;Default;None
	DNSPolicy *corev1.DNSPolicy `json:"dnsPolicy,omitempty"`
	// dnsConfig adds to what dnsPolicy makes of the pods' resolv.conf. nginx's resolver has its name
	// servers, too, where the configuration declares none.
	// +optional
	DNSConfig *DNSConfig `json:"dnsConfig,omitempty"`
	// hostAliases are lines of the pods' /etc/hosts.
	// +optional
	// +listType=map
	// +listMapKey=ip
	// +kubebuilder:validation:MaxItems=64
	HostAliases []HostAlias `json:"hostAliases,omitempty"`
	// securityContext is the user and the groups of the pods' processes. Unset: user and group 101
	// and, with a volume that nginx may write to, fsGroup 101; or what the platform assigns, if the
	// operator runs with --platform=openshift.
	// +optional
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty"`
	// imagePullSecrets name Secrets with credentials for the images' registries, like
	// spec.imagePullSecrets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`
	// imagePullPolicy of the nginx image. Unset: Always for the tag latest,
	// IfNotPresent otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// env are environment variables of the nginx container.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Env []corev1.EnvVar `json:"env,omitempty"`
	// envFrom are environment variables of the nginx container: all keys of ConfigMaps and
	// Secrets. If a name is in both, env takes precedence.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// volumes are added to the pods.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Volumes []Volume `json:"volumes,omitempty"`
	// volumeMounts are added to the nginx container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:XValidation:rule="!['/etc/nginx-operator', '/etc/nginx/tls', '/opt/nginx-operator', '/tmp', '/var/cache/nginx', '/var/lib/nginx', '/run', '/var/run'].exists(r, self.mountPath == r || self.mountPath.startsWith(r + '/'))",message="mountPath must not be in a folder that nginx or the operator uses: /etc/nginx-operator, /etc/nginx/tls, /opt/nginx-operator, /tmp, /var/cache/nginx, /var/lib/nginx, /run"
	// +kubebuilder:validation:items:XValidation:rule="!(self.mountPath in ['/etc', '/etc/', '/opt', '/opt/'])",message="mountPath must not be /etc or /opt, which contain folders of the operator: mount the volume at a folder below them"
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
	// reloadOn are names of volumes of podTemplate.volumes with a ConfigMap or a Secret that
	// podTemplate.volumeMounts mounts without subPath. When their files change, nginx tests its
	// configuration with them and reloads it. If nginx refuses them, it keeps serving with the
	// previous files, ConfigValid is False, and the reload is repeated.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	ReloadOn []string `json:"reloadOn,omitempty"`
	// initContainers run before nginx starts; with restartPolicy Always they are sidecars (KEP-753).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	InitContainers []Container `json:"initContainers,omitempty"`
	// containers are sidecars of nginx. They start before nginx, in this order, and stop after
	// it, in the reverse order, so that nginx can still use them while it drains: they are init
	// containers with restartPolicy Always (KEP-753).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Containers []Container `json:"containers,omitempty"`
}

// SecretReference names a Secret of the same namespace. The operator never reads it.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// Volume is a volume of a kind that the restricted Pod Security Standard allows.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.persistentVolumeClaim), has(self.emptyDir), has(self.csi), has(self.image)].filter(x, x).size() == 1",message="set exactly one of configMap, secret, persistentVolumeClaim, emptyDir, csi and image"
type Volume struct {
	// name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['config', 'config-next', 'requests', 'instance', 'certificates', 'scratch']) && !self.startsWith('content-') && !self.startsWith('certificate-')",message="volume names config, config-next, requests, instance, certificates, scratch, content-* and certificate-* are reserved for the operator"
	Name string `json:"name,omitempty"`
	// configMap is a ConfigMap as files.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	// secret is a Secret as files.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`
	// persistentVolumeClaim is a volume claimed in the same namespace.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
	// emptyDir is scratch space that lives as long as the pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// csi is an ephemeral volume of a CSI driver.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
	// image is an OCI image as files.
	// +optional
	Image *ImageVolume `json:"image,omitempty"`
}

// VolumeMount mounts a volume of podTemplate.volumes.
type VolumeMount struct {
	// name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// mountPath is where the container finds the volume.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[^:]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('//') && !(self + '/').contains('/../') && !(self + '/').contains('/./')",message="mountPath must be a clean absolute path: no '//', no '.' or '..' element"
	// +kubebuilder:validation:XValidation:rule="!['/proc', '/sys', '/dev'].exists(r, self == r || self.startsWith(r + '/'))",message="mountPath must not be in a folder of the kernel: /proc, /sys, /dev"
	MountPath string `json:"mountPath,omitempty"`
	// subPath is a path inside the volume. Such a mount never sees updates of a
	// ConfigMap or Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('/' + self + '/').contains('/../')",message="subPath must be a path inside the volume: no '/' at the beginning and no '..' element"
	SubPath *string `json:"subPath,omitempty"`
	// readOnly mounts the volume read-only.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
}

// Container is a container that runs in the pods of the application. It gets the
// same hardening as nginx: no privileges, no capabilities, a read-only root
// file system, not root.
type Container struct {
	// name of the container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'nginx' && !self.startsWith('nginx-operator-')",message="container names nginx and nginx-operator-* are reserved for the operator"
	Name string `json:"name,omitempty"`
	// image of the container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// imagePullPolicy of the image.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// command replaces the image's entrypoint.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`
	// args replaces the image's arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
	// env are environment variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Env []corev1.EnvVar `json:"env,omitempty"`
	// envFrom are environment variables of the container: all keys of ConfigMaps and Secrets.
	// If a name is in both, env takes precedence.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// workingDir is the folder in which the container starts. Unset: that of the image.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	WorkingDir *string `json:"workingDir,omitempty"`
	// ports that the container listens on.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Ports []ContainerPort `json:"ports,omitempty"`
	// resources of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// volumeMounts of the container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
	// livenessProbe restarts the container when it fails.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || !has(self.httpGet.host) || self.httpGet.host == '') && (!has(self.tcpSocket) || !has(self.tcpSocket.host) || self.tcpSocket.host == '')",message="a probe's host must not be set: a probe targets its own pod"
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || type(self.httpGet.port) != int || self.httpGet.port >= 1 && self.httpGet.port <= 65535) && (!has(self.tcpSocket) || type(self.tcpSocket.port) != int || self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a probe's port must be a name or from 1 to 65535"
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// readinessProbe takes the pod out of the Service when it fails.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || !has(self.httpGet.host) || self.httpGet.host == '') && (!has(self.tcpSocket) || !has(self.tcpSocket.host) || self.tcpSocket.host == '')",message="a probe's host must not be set: a probe targets its own pod"
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || type(self.httpGet.port) != int || self.httpGet.port >= 1 && self.httpGet.port <= 65535) && (!has(self.tcpSocket) || type(self.tcpSocket.port) != int || self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a probe's port must be a name or from 1 to 65535"
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// startupProbe holds the other probes back until it succeeds.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || !has(self.httpGet.host) || self.httpGet.host == '') && (!has(self.tcpSocket) || !has(self.tcpSocket.host) || self.tcpSocket.host == '')",message="a probe's host must not be set: a probe targets its own pod"
	// +kubebuilder:validation:XValidation:rule="(!has(self.httpGet) || type(self.httpGet.port) != int || self.httpGet.port >= 1 && self.httpGet.port <= 65535) && (!has(self.tcpSocket) || type(self.tcpSocket.port) != int || self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a probe's port must be a name or from 1 to 65535"
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// lifecycle hooks of the container. The preStop hook runs when the pod starts to terminate,
	// before nginx has drained; the stop signal follows when nginx has ended.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// restartPolicy Always makes an init container a sidecar. Those listed in containers always are.
	// +optional
	// +kubebuilder:validation:Enum=Always
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
	// runAsUser is the user ID of the container, not 0. Unset: that of nginx, 101.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`
}

// Lifecycle has the hooks of a container.
// +kubebuilder:validation:MinProperties=1
type Lifecycle struct {
	// postStart runs when the container has started. The containers after it wait until it has ended.
	// +optional
	PostStart *LifecycleHandler `json:"postStart,omitempty"`
	// preStop runs when the pod begins to end, before nginx has drained; the signal to stop comes
	// after nginx has ended.
	// +optional
	PreStop *LifecycleHandler `json:"preStop,omitempty"`
}

// LifecycleHandler is what happens at a moment in the life of a container.
// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.httpGet), has(self.sleep)].exists_one(x, x)",message="set one of exec, httpGet and sleep"
type LifecycleHandler struct {
	// exec runs a command in the container.
	// +optional
	Exec *corev1.ExecAction `json:"exec,omitempty"`
	// httpGet sends a request to the pod.
	// +optional
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty"`
	// sleep waits.
	// +optional
	Sleep *corev1.SleepAction `json:"sleep,omitempty"`
}

// HTTPGetAction is a request of a hook to the pod itself.
type HTTPGetAction struct {
	// path and query of the request. Unset: /.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Path *string `json:"path,omitempty"`
	// port of the container: its number or its name.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 65535",message="a hook's port must be a name or from 1 to 65535"
	Port intstr.IntOrString `json:"port"`
	// scheme of the request: HTTP or HTTPS. Unset: HTTP.
	// +optional
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Scheme *corev1.URIScheme `json:"scheme,omitempty"`
	// httpHeaders of the request.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	HTTPHeaders []corev1.HTTPHeader `json:"httpHeaders,omitempty"`
}

// ContainerPort is a port of an additional container.
type ContainerPort struct {
	// name of the port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// containerPort is the number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`
	// protocol is TCP or UDP.
	// +optional
	// +default="TCP"
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}
