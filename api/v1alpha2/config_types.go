package v1alpha2

import corev1 "k8s.io/api/core/v1"

// Config says where the nginx configuration comes from.
//
// The files are flat. A file called nginx.conf is the whole configuration;
// otherwise every *.conf is included in the http context, in the order of the
// names, *.stream.conf in the stream context and *.main.conf at the top level.
// All other files are plain files beside them.
//
// +kubebuilder:validation:XValidation:rule="has(self.files) != has(self.configMap)",message="set exactly one of config.files and config.configMap"
type Config struct {
	// files are the configuration files, by file name.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Files map[string]ConfigFile `json:"files,omitempty"`
	// configMap names a ConfigMap of the same namespace that holds the files. It is
	// watched, and never changed.
	// +optional
	ConfigMap *ConfigMapReference `json:"configMap,omitempty"`
	// env are variables of the configuration files, and not environment variables of the container:
	// those are podTemplate.env. ${NAME} in a file becomes the value. A new value of a Secret or
	// ConfigMap goes live without a restart. nginx's own variables, such as ${host}, stay.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []ConfigEnvVar `json:"env,omitempty"`
	// envFrom are variables of the configuration files, and not environment variables of the
	// container: all keys of Secrets and ConfigMaps that can be names of variables. If a name is in
	// both, env takes precedence, and then the last entry of envFrom.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	EnvFrom []ConfigEnvFromSource `json:"envFrom,omitempty"`
}

// ConfigEnvVar is a variable of the configuration files.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="set exactly one of value and valueFrom"
type ConfigEnvVar struct {
	// name of the variable: capital letters, digits and '_', so that none is a variable of nginx.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z_][A-Z0-9_]*$`
	Name string `json:"name,omitempty"`
	// value is the value itself.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`
	// valueFrom is where the value is.
	// +optional
	ValueFrom *ConfigEnvVarSource `json:"valueFrom,omitempty"`
}

// ConfigEnvVarSource is where the value of a variable is.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="set exactly one of secretKeyRef and configMapKeyRef"
type ConfigEnvVarSource struct {
	// secretKeyRef is a key of a Secret of the same namespace. The operator never reads it.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// configMapKeyRef is a key of a ConfigMap of the same namespace.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
}

// KeyReference is a key of an object.
type KeyReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
	// key in the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:XValidation:rule="self != '.' && !self.startsWith('..')",message="key must not be '.' or begin with '..'"
	Key string `json:"key,omitempty"`
}

// ConfigEnvFromSource are variables from all keys of an object.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.configMapRef)",message="set exactly one of secretRef and configMapRef"
type ConfigEnvFromSource struct {
	// prefix is put before each key.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z_][A-Z0-9_]*$`
	Prefix *string `json:"prefix,omitempty"`
	// secretRef is a Secret of the same namespace. The operator never reads it.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// configMapRef is a ConfigMap of the same namespace.
	// +optional
	ConfigMapRef *ConfigMapReference `json:"configMapRef,omitempty"`
}

// ConfigFile is the text of one configuration file.
//
// +kubebuilder:validation:MaxLength=262144
type ConfigFile string

// ConfigMapReference names a ConfigMap of the same namespace.
type ConfigMapReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// Content is one folder of static files.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.persistentVolumeClaim), has(self.image)].filter(x, x).size() == 1",message="set exactly one of configMap, persistentVolumeClaim and image"
type Content struct {
	// mountPath is where nginx finds the files.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[-._a-zA-Z0-9/]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('//') && !self.endsWith('/') && !(self + '/').contains('/../') && !(self + '/').contains('/./')",message="mountPath must be a clean absolute path: no '//', no '.' or '..' element and no '/' at the end"
	// +kubebuilder:validation:XValidation:rule="!['/etc/nginx-operator', '/etc/nginx/tls', '/opt/nginx-operator', '/tmp', '/var/cache/nginx', '/var/lib/nginx', '/run', '/var/run', '/proc', '/sys', '/dev'].exists(r, self == r || self.startsWith(r + '/'))",message="mountPath must not be in a folder that nginx or the operator uses: /etc/nginx-operator, /etc/nginx/tls, /opt/nginx-operator, /tmp, /var/cache/nginx, /var/lib/nginx, /run, /proc, /sys, /dev"
	// +kubebuilder:validation:XValidation:rule="!(self in ['/etc', '/opt'])",message="mountPath must not be /etc or /opt, which contain folders of the operator: use a folder below them"
	MountPath string `json:"mountPath,omitempty"`
	// configMap holds the files of a small site. Its keys are the file names.
	// +optional
	ConfigMap *ConfigMapReference `json:"configMap,omitempty"`
	// persistentVolumeClaim is a volume that holds the files.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimReference `json:"persistentVolumeClaim,omitempty"`
	// image is an OCI image whose file system holds the files (KEP-4639).
	// +optional
	Image *ImageVolume `json:"image,omitempty"`
}

// PersistentVolumeClaimReference names a PersistentVolumeClaim of the same namespace.
type PersistentVolumeClaimReference struct {
	// claimName is the name of the PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClaimName string `json:"claimName,omitempty"`
}

// ImageVolume is an OCI image mounted as a read-only folder.
type ImageVolume struct {
	// reference is the image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reference string `json:"reference,omitempty"`
	// pullPolicy is Always, IfNotPresent or Never. Unset: Always for the tag latest,
	// IfNotPresent otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy *corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// Certificate is one certificate with its private key.
type Certificate struct {
	// name of the certificate: the folder under /etc/nginx/tls.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// secretName is a Secret of type kubernetes.io/tls in the same namespace. The
	// operator never reads it: the pods do.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SecretName string `json:"secretName,omitempty"`
	// certificate makes cert-manager issue the certificate into the Secret. Unset: others create
	// the Secret.
	// +optional
	Certificate *IssuedCertificate `json:"certificate,omitempty"`
}
