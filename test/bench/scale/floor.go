package scale

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/internal/bare"
)

// deploymentsNamespace is the namespace of Deployments without other objects.
const deploymentsNamespace = "scale-deployments"

// floor has the results of a bare client.
type floor struct {
	// count is the number of applications, and of Deployments.
	count int
	// applications is the time for the same writes as the operator's, and deployments the time for
	// Deployments alone.
	applications, deployments time.Duration
	usage
}

// runFloor makes the operator's writes without the operator: as many of them, with the same
// concurrency, on another control plane that is as empty as the operator's was. The operator is
// idle in the meantime.
func (b *bench) runFloor(ctx context.Context, result *Result) (err error) {
	f := &result.floor
	f.count = b.Objects
	b.Progress("%d objects: the same writes by a bare client", b.Objects)
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, errors.New("the bare client did not finish in time"))
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
