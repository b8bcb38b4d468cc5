package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// NginxCache is a tier of caches in front of origins. Edges take the requests of clients and send each to the shard
// that owns its object. Shards keep their part of all objects on a volume of their own, and ask the origins for what
// they do not have.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nginxcaches,singular=nginxcache,shortName=ngxcache,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the cache is as declared and serving"
// +kubebuilder:printcolumn:name="Edges",type=integer,JSONPath=`.status.edge.readyReplicas`,description="Edges that serve now"
// +kubebuilder:printcolumn:name="Shards",type=integer,JSONPath=`.status.shards.readyReplicas`,description="Shards that serve now"
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.shards.storage.size`,description="The volume of each shard"
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.shards.config.revision`,description="The revision of the shards' configuration"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is Ready or not"
// +kubebuilder:printcolumn:name="Degraded",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether a part of what it has stored is lost or away"
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.shards.image`,description="The image that the shards run"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 38",message="metadata.name must be at most 38 characters long: the names of the objects made for it (such as <name>-shards) are derived from it and must stay legal"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must consist of lower case letters, digits and '-', start with a letter and end with a letter or digit: the names of Services are derived from it"
type NginxCache struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the cache.
	// +required
	Spec NginxCacheSpec `json:"spec,omitzero"`
	// status is the cache as it was last observed. It is written by the operator only and can be
	// rebuilt from the cluster at any time.
	// +optional
	Status NginxCacheStatus `json:"status,omitempty"`
}

// NginxCacheList is a list of NginxCaches.
//
// +kubebuilder:object:root=true
type NginxCacheList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxCache `json:"items"`
}

// NginxCacheSpec declares a cache.
//
// +kubebuilder:validation:XValidation:rule="self.origins.filter(o, !has(o.hosts)).size() <= 1",message="only one origin can be without hosts: it gets the requests for all other hosts"
// +kubebuilder:validation:XValidation:rule="self.origins.all(o, !has(o.hosts) || o.hosts.all(h, self.origins.exists_one(p, has(p.hosts) && h in p.hosts)))",message="two origins have the same host: each can be listed once"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.tls.filter(c, !has(c.hosts)).size() <= 1",message="only one certificate can be without hosts: it is for all other hosts"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.tls.all(c, !has(c.hosts) || c.hosts.all(h, self.tls.exists_one(d, has(d.hosts) && h in d.hosts)))",message="two certificates have the same host: each can be listed once"
type NginxCacheSpec struct {
	// image is the nginx image that the pods run: any image with nginx 1.27.3 or later on its PATH.
	// Unset: the operator's default image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$')",message="image must be an image reference such as registry.example.com/nginx:1.30"
	Image *string `json:"image,omitempty"`

	// origins are where the cached objects come from.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Origins []Origin `json:"origins,omitempty"`

	// edge tunes the pods that take the requests of clients.
	// +optional
	// +default={}
	Edge Edge `json:"edge,omitzero"`

	// shards tunes the pods that store the objects.
	// +required
	Shards Shards `json:"shards"`

	// rules say what is cached, for how long, and by which key. The first one that matches a request
	// applies to it. For requests that no rule matches, defaults apply.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// defaults apply where a rule sets nothing else.
	// +optional
	// +default={}
	Defaults Defaults `json:"defaults,omitzero"`

	// tls are the certificates of the edges, which then serve https on port 443 as well. A new pair in
	// a Secret goes live without a restart; while it is missing or does not match, the last good one
	// stays.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	TLS []Certificate `json:"tls,omitempty"`

	// service configures the Service in front of the edges.
	// +optional
	Service *v1alpha2.Service `json:"service,omitempty"`

	// networkPolicy limits who may connect to the edges. Unset: the operator creates no NetworkPolicy for
	// them. Shards always admit only edges and shards.
	// +optional
	NetworkPolicy *v1alpha2.NetworkPolicy `json:"networkPolicy,omitempty"`

	// podTemplate adds to the pods of both tiers. It is merged under the operator's own template:
	// it can add to the pods' hardening, never weaken it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.volumes) || self.volumes.all(v, !(v.name in ['cache-hot', 'cache-objects', 'cache-purges']))",message="volume names cache-hot, cache-objects and cache-purges are reserved for the operator"
	PodTemplate *v1alpha2.PodTemplate `json:"podTemplate,omitempty"`

	// rollout tunes how a change is rolled out, and what happens when it fails. Edges and shards are
	// replaced one at a time, each tier for itself, so maxSurge and maxUnavailable have no effect.
	// +optional
	Rollout *v1alpha2.Rollout `json:"rollout,omitempty"`

	// drain tunes how a pod stops without failing a request.
	// +optional
	Drain *v1alpha2.Drain `json:"drain,omitempty"`

	// suspend makes the operator observe and report only: it changes nothing until suspend is false
	// again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// Origin is where cached objects come from.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.nginxOperator), has(self.url)].filter(x, x).size() == 1",message="set exactly one of service, nginxOperator and url"
type Origin struct {
	// name of the origin, unique within the cache.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// hosts are the host names of the requests that this origin answers. Unset: those of all requests
	// that no other origin answers. Without such an origin, these requests are answered with 421.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hosts []string `json:"hosts,omitempty"`
	// service is a Service in the same namespace.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`
	// nginxOperator is an NginxOperator in the same namespace. Its port is the one of its spec.ports
	// that is called http, or else the first TCP port.
	// +optional
	NginxOperator *NginxOperatorReference `json:"nginxOperator,omitempty"`
	// url is a server elsewhere: http or https, a host name and optionally a port. It is requested with
	// its own host name; X-Forwarded-Host has that of the client's request. The certificate of an https
	// server is verified against the authorities that the image trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=270
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[1-9][0-9]{0,4})?$')",message="url must be http:// or https://, a host name in lower case letters, and optionally a port, such as https://origin.example.com"
	URL *string `json:"url,omitempty"`
}

// NginxOperatorReference names an NginxOperator.
type NginxOperatorReference struct {
	// name of the NginxOperator.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// ServiceReference names a port of a Service.
type ServiceReference struct {
	// name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// port is the number of the Service's port.
	// +optional
	// +default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Edge tunes the pods that take the requests of clients.
type Edge struct {
	// replicas is the number of edges.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
	// hotSize is how much memory each edge uses for the objects that are requested most. It counts
	// against the pod's memory limit. Default: 64Mi.
	// +optional
	HotSize *resource.Quantity `json:"hotSize,omitempty"`
	// config are files that are added to the nginx configuration of the edges. Their names end in .conf
	// for the http context, .main.conf for the top level and .stream.conf for the stream context, .server
	// for the servers that clients connect to, and .location for the locations of these. All
	// others are plain files beside them.
	// +optional
	Config *Config `json:"config,omitempty"`
	// resources are the compute resources of the nginx container of each edge.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Shards tunes the pods that store the objects.
type Shards struct {
	// replicas is the number of shards. Another number moves only as many objects to other shards as
	// it has to, and handOver says for how long their previous owners are asked for them.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Replicas *int32 `json:"replicas,omitempty"`
	// handOver is how long objects are handed over when replicas changes: a shard that does not have an
	// object asks the one that owned it before, and only then the origin. What is not requested in that
	// time is not handed over. Shards that are removed stay for as long. 0: objects are not handed over,
	// and a shard that is replaced does not hand its objects over to the others either.
	// +optional
	// +default="5m"
	HandOver Duration `json:"handOver,omitempty"`
	// storage is the volume of each shard.
	// +required
	Storage Storage `json:"storage"`
	// cacheSize is how much of its volume each shard fills with objects. Default: 90 % of
	// storage.size.
	// +optional
	CacheSize *resource.Quantity `json:"cacheSize,omitempty"`
	// config are files that are added to the nginx configuration of the shards. Their names end in .conf
	// for the http context, .main.conf for the top level and .stream.conf for the stream context. All
	// others are plain files beside them.
	// +optional
	Config *Config `json:"config,omitempty"`
	// resources are the compute resources of the nginx container of each shard.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Config are files that are added to the nginx configuration of a tier.
type Config struct {
	// files are the files, by name. Names that the operator uses itself are refused.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Files map[string]v1alpha2.ConfigFile `json:"files,omitempty"`
}

// Storage is the volume of a shard.
type Storage struct {
	// size of the volume.
	// +required
	Size resource.Quantity `json:"size"`
	// storageClassName is the class of the volume. Unset: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// whenScaled is what happens to the volumes of shards that are removed because replicas was
	// reduced. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenScaled *VolumeRetention `json:"whenScaled,omitempty"`
	// whenDeleted is what happens to the volumes when the cache is deleted. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenDeleted *VolumeRetention `json:"whenDeleted,omitempty"`
}

// VolumeRetention is what happens to a volume that no pod uses any more.
type VolumeRetention string

// What happens to volumes.
const (
	// VolumeRetain keeps them.
	VolumeRetain VolumeRetention = "Retain"
	// VolumeDelete deletes them.
	VolumeDelete VolumeRetention = "Delete"
)
