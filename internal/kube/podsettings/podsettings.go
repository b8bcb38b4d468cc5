// Package podsettings holds what a cluster requires of every pod that the operator creates, whatever runs in it.
package podsettings

import (
	"fmt"
	"slices"

	"k8s.io/client-go/discovery"
)

// The platforms.
const (
	// Auto stands for the platform that Detect finds.
	Auto = "auto"
	// Kubernetes lets pods choose the ids of their processes.
	Kubernetes = "kubernetes"
	// OpenShift assigns each namespace a range of ids, and by default refuses pods with others
	// (https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/authentication_and_authorization/managing-pod-security-policies).
	OpenShift = "openshift"
)

// openShiftGroup is the API group of SecurityContextConstraints.
const openShiftGroup = "security.openshift.io"

// Settings are what every pod gets.
type Settings struct {
	// ImagePullSecrets are names of Secrets with credentials for the registries of all images.
	ImagePullSecrets []string
	// PlatformAssignsIDs leaves the user and the groups of the processes to the platform, which refuses fixed ones.
	PlatformAssignsIDs bool
}

// Platforms returns the names of the platforms that a user may choose.
func Platforms() []string { return []string{Auto, Kubernetes, OpenShift} }

// Detect returns the platform of a cluster.
func Detect(cluster discovery.ServerGroupsInterface) (string, error) {
	groups, err := cluster.ServerGroups()
	if err != nil {
		return "", fmt.Errorf("list the API groups: %w", err)
	}
	for i := range groups.Groups {
		if groups.Groups[i].Name == openShiftGroup {
			return OpenShift, nil
		}
	}
	return Kubernetes, nil
}

// Valid reports whether a name is that of a platform.
func Valid(platform string) bool { return slices.Contains(Platforms(), platform) }
