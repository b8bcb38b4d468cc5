package snapshot

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chance matches the collision count and the objects whose names depend on it. Hiding these objects
// loses nothing: their pod template is also in the Deployment.
var chance = regexp.MustCompile(`^(ReplicaSet|Pod)/|^Deployment/[^.]*\.status\.collisionCount$`)

// collided reports whether a picture has a Deployment with a hash collision. A Deployment collides
// if it is recreated before garbage collection removes the ReplicaSet of its predecessor. It then
// counts the collision in its status, and gives its ReplicaSets other names.
func collided(p Picture) bool {
	for _, object := range p.Objects {
		if n, _, err := unstructured.NestedInt64(object, "status", "collisionCount"); err == nil && n > 0 {
			return true
		}
	}
	return false
}
