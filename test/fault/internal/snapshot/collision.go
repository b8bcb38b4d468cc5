package snapshot

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chance are the paths of the count, and of what has its name by it. What pods are made of stands in the Deployment.
var chance = regexp.MustCompile(`^(ReplicaSet|Pod)/|^Deployment/[^.]*\.status\.collisionCount$`)

// collided tells whether a picture has a Deployment that has met a ReplicaSet of the name of its own, as one does that is
// made again before garbage collection gets to what the earlier one has left. It counts that in its status, and gives its
// ReplicaSets other names from then on.
func collided(p Picture) bool {
	for _, object := range p.Objects {
		if n, _, err := unstructured.NestedInt64(object, "status", "collisionCount"); err == nil && n > 0 {
			return true
		}
	}
	return false
}
