package scale

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/internal/bare"
)

// deploymentsNamespace is that of the Deployments that nothing else comes with.
const deploymentsNamespace = "scale-deployments"

// floor is what a bare client reaches.
type floor struct {
	// count is how many applications and Deployments were made.
	count int
	// applications is the time for the same writes as the operator's, deployments that for
	// Deployments alone.
	applications, deployments time.Duration
	usage
}

// runFloor makes the operator's writes without the operator: as many of them, as many at a time,
// on a control plane of its own that is as empty as the operator's was. The operator meanwhile
// has nothing to do.
func (b *bench) runFloor(ctx context.Context, result *Result) (err error) {
	f := &result.floor
	f.count = b.Objects
	b.Progress("%d objects: the same writes by a bare client", b.Objects)
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, errors.New("the bare client does not get done"))
	defer cancel()
	plane, err := startPlane(ctx, namespace, deploymentsNamespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.stop()) }()
	account, err := client.New(plane.account, client.Options{Scheme: plane.Client.Scheme()})
	if err != nil {
		return err
	}
	before, err := b.meter()
	if err != nil {
		return err
	}
	f.applications, err = result.template.Applications(ctx, bare.Writers{Administrator: plane.Client, Operator: account}, f.count)
	if err != nil {
		return err
	}
	if f.usage, err = b.used(before); err != nil {
		return err
	}
	f.deployments, err = result.template.Deployments(ctx, account, deploymentsNamespace, f.count)
	return err
}
