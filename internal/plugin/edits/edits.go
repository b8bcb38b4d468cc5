// Package edits has the changes that users make to applications. It is pure.
package edits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
)

// Edit is a change of one application.
type Edit struct {
	// Command has the words below kubectl nginx that make it.
	Command string
	// Arguments are the names of the arguments after that of the application.
	Arguments []string
	// Short and Long say what it does.
	Short, Long string
	// Change changes an NginxOperator, and returns what is done.
	Change func(n *v1alpha2.NginxOperator, args []string) (done string, err error)
	// Settles is true for changes after which the application becomes ready again.
	Settles bool
}

// All returns all changes.
func All() []Edit {
	return []Edit{
		{Command: "scale", Arguments: []string{"REPLICAS"}, Short: "Set the number of pods", Change: scale, Settles: true},
		{Command: "set image", Arguments: []string{"IMAGE"}, Short: "Set the image of nginx", Change: setImage, Settles: true},
		{Command: "restart", Short: "Replace all pods, as a rollout", Change: restart, Settles: true},
		{Command: "rollback", Arguments: []string{"REVISION"}, Short: "Return to a revision, and stay there", Change: rollback, Settles: true,
			Long: "Return to a revision of `kubectl nginx history`, and stay there until `kubectl nginx unpin`, whatever else the spec declares."},
		{Command: "unpin", Short: "Return from a rollback to what the spec declares", Change: unpin, Settles: true},
		{Command: "suspend", Short: "Leave the application as it is, whatever the spec declares", Change: suspend},
		{Command: "resume", Short: "End a suspension", Change: resume, Settles: true},
		{Command: "approve", Arguments: []string{"GATE"}, Short: "Open a gate for the rollout that waits", Change: approve, Settles: true},
	}
}

func scale(n *v1alpha2.NginxOperator, args []string) (string, error) {
	replicas, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil || replicas < 0 {
		return "", fmt.Errorf("REPLICAS is %q: set it to a number from 0", args[0])
	}
	n.Spec.Replicas = new(int32(replicas))
	return fmt.Sprintf("scaled to %d pods", replicas), nil
}

func setImage(n *v1alpha2.NginxOperator, args []string) (string, error) {
	n.Spec.Image = &args[0]
	return "image set to " + args[0], nil
}

func restart(n *v1alpha2.NginxOperator, _ []string) (string, error) {
	n.Spec.ForceRedeploy = new(time.Now().UTC().Format(time.RFC3339))
	return "restarted", nil
}

func rollback(n *v1alpha2.NginxOperator, args []string) (string, error) {
	revision, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || revision < 1 {
		return "", fmt.Errorf("REVISION is %q: set it to a number that `kubectl nginx history %s` lists", args[0], n.Name)
	}
	if n.Spec.Rollout == nil {
		n.Spec.Rollout = &v1alpha2.Rollout{}
	}
	n.Spec.Rollout.ToRevision = &revision
	return fmt.Sprintf("rolled back to revision %d", revision), nil
}

func unpin(n *v1alpha2.NginxOperator, _ []string) (string, error) {
	if n.Spec.Rollout == nil || n.Spec.Rollout.ToRevision == nil {
		return "", fmt.Errorf("%s is not pinned to a revision", n.Name)
	}
	n.Spec.Rollout.ToRevision = nil
	return "unpinned", nil
}

func suspend(n *v1alpha2.NginxOperator, _ []string) (string, error) {
	n.Spec.Suspend = new(true)
	return "suspended", nil
}

func resume(n *v1alpha2.NginxOperator, _ []string) (string, error) {
	n.Spec.Suspend = nil
	return "resumed", nil
}

func approve(n *v1alpha2.NginxOperator, args []string) (string, error) {
	waiting := n.Status.WaitingRollout
	if waiting == nil {
		return "", fmt.Errorf("no rollout of %s waits for a gate", n.Name)
	}
	if !slices.Contains(waiting.Gates, args[0]) {
		return "", fmt.Errorf("the rollout of %s does not wait for the gate %s, but for %s", n.Name, args[0], strings.Join(waiting.Gates, ", "))
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[v1alpha2.AnnotationGatePrefix+args[0]] = waiting.Revision
	return "gate " + args[0] + " opened", nil
}
