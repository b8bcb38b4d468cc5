package v1alpha2

// DNSConfig adds to the pods' resolv.conf.
type DNSConfig struct {
	// nameservers are IP addresses of name servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:Pattern=`^[0-9a-fA-F:.]+$`
	Nameservers []string `json:"nameservers,omitempty"`
	// searches are domains in which names without a final dot are looked up.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Searches []string `json:"searches,omitempty"`
	// options of the resolver, such as ndots.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Options []DNSOption `json:"options,omitempty"`
}

// DNSOption is an option of resolv.conf.
type DNSOption struct {
	// name of the option.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// value of the option. Unset: it has none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value *string `json:"value,omitempty"`
}

// HostAlias is a line of /etc/hosts.
type HostAlias struct {
	// ip is the IP address.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F:.]+$`
	IP string `json:"ip,omitempty"`
	// hostnames are the names for it.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hostnames []string `json:"hostnames,omitempty"`
}
