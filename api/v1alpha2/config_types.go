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
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
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
	MountPath string `json:"mountPath"`
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
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName"`
}

// ImageVolume is an OCI image mounted as a read-only folder.
type ImageVolume struct {
	// reference is the image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reference string `json:"reference"`
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
	Name string `json:"name"`
	// secretName is a Secret of type kubernetes.io/tls in the same namespace. The
	// operator never reads it: the pods do.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	SecretName string `json:"secretName"`
	// certificate makes cert-manager issue the certificate into the Secret. Unset: others create
	// the Secret.
	// +optional
	Certificate *IssuedCertificate `json:"certificate,omitempty"`
}
