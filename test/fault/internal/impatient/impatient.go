// Package impatient builds the operator with seconds in place of waits of minutes. The harness runs the operator as a
// process, on the machine's clock, so it cannot let time pass.
package impatient

import (
	"context"

	"example.com/nginx-operator/test/fault/internal/bugs"
)

// edits shorten the waits. The waits of less than a minute stay.
var edits = []bugs.Edit{{
	File:    "internal/nginx/rollout/follow.go",
	Replace: "const FollowPatience = 3 * time.Minute",
	With:    "const FollowPatience = 12 * time.Second",
}}

// change is the change to the operator.
var change = bugs.Bug{Name: "impatient", Edits: edits}

// Build builds the operator of the module at root into dir, and returns the program's path.
func Build(ctx context.Context, root, dir string) (string, error) {
	return change.Build(ctx, root, dir)
}
