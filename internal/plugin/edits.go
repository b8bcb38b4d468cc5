package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/api/v1alpha2"
)

// edit is a command that changes one application.
type edit struct {
	use, short, long string
	args             cobra.PositionalArgs
	// change changes an NginxOperator, and returns what is done; args are those of the command after the name.
	change func(n *v1alpha2.NginxOperator, args []string) (done string, err error)
	// waits is false for commands after which there is nothing to wait for.
	waits bool
}

// edits are the commands that change an application.
func edits() []edit {
	one, two := cobra.ExactArgs(1), cobra.ExactArgs(2)
	return []edit{
		{use: "scale NAME REPLICAS", short: "Set the number of pods", args: two, change: scale, waits: true},
		{use: "restart NAME", short: "Replace all pods, as a rollout", args: one, change: restart, waits: true},
		{use: "rollback NAME REVISION", short: "Return to a revision, and stay there", args: two, change: rollback, waits: true,
			long: "Return to a revision of `kubectl nginx history`, and stay there until `kubectl nginx unpin`, whatever else the spec declares."},
		{use: "unpin NAME", short: "Return from a rollback to what the spec declares", args: one, change: unpin, waits: true},
		{use: "suspend NAME", short: "Leave the application as it is, whatever the spec declares", args: one, change: suspend},
		{use: "resume NAME", short: "End a suspension", args: one, change: resume, waits: true},
		{use: "approve NAME GATE", short: "Open a gate for the rollout that waits", args: two, change: approve, waits: true},
	}
}

// setEdits are the commands below kubectl nginx set.
func setEdits() []edit {
	return []edit{{use: "image NAME IMAGE", short: "Set the image of nginx", args: cobra.ExactArgs(2), change: setImage, waits: true}}
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
