package v1alpha2

import corev1 "k8s.io/api/core/v1"

// PodSecurityContext is the user and the groups of the pods' processes. None of them can be root's
// user.
type PodSecurityContext struct {
	// runAsUser is the user id of the processes, for an image whose files belong to another user
	// than 101.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// runAsGroup is the primary group id of the processes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// fsGroup is the group that owns the files of volumes which support it, such as block volumes,
	// and a further group of the processes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`
	// fsGroupChangePolicy is OnRootMismatch (change files only if the volume's folder has another
	// group) or Always. Unset: OnRootMismatch.
	// +optional
	// +kubebuilder:validation:Enum=OnRootMismatch;Always
	FSGroupChangePolicy *corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`
	// supplementalGroups are further groups of the processes, such as the owner of a shared volume.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=2147483647
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`
}
