package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
)

const (
	fleetObjects = 100
	// fleetSettle is how long the operator must make no requests until it counts as idle, and
	// fleetSettleWithin bounds the wait for that. An operator that does not become idle is measured
	// all the same, because that is what the figures show.
	fleetSettle       = 5 * time.Second
	fleetSettleWithin = time.Minute
)

// sharedFleet is a running fleet that several measurements use.
type sharedFleet struct {
	*cluster
	namespace string
	n         int
}

// fleet returns the fleet of this run, and creates it if necessary. The fleet is ready, and is
// removed at the end.
func (s *session) fleet(ctx context.Context) (*sharedFleet, error) {
	if s.shared != nil {
		return s.shared, nil
	}
	c, err := openCluster(ctx)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "measure-"}}
	if err := c.client.Create(ctx, namespace); err != nil {
		return nil, err
	}
	s.atEnd(func(ctx context.Context) error { return c.remove(ctx, namespace) })
	f := &sharedFleet{cluster: c, namespace: namespace.Name, n: s.count(fleetObjects)}
	s.progress("waiting for %d NginxOperators in namespace %s to be ready", f.n, namespace.Name)
	patient, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("not ready within %s", s.patience))
	defer cancel()
	if err := fleet.Create(patient, c.client, namespace.Name, f.n); err != nil {
		return nil, err
	}
	if err := fleet.Await(patient, c.client, namespace.Name, f.n, ready); err != nil {
		return nil, err
	}
	s.shared = f
	return f, f.settle(ctx)
}

// figures describe the fleet, and other applications of the operator, whose changes are counted as
// well.
func (f *sharedFleet) figures(ctx context.Context) ([]figure.Figure, error) {
	list := &v1alpha2.NginxOperatorList{}
	if err := f.client.List(ctx, list); err != nil {
		return nil, err
	}
	var others []string
	for i := range list.Items {
		if list.Items[i].Namespace != f.namespace {
			others = append(others, list.Items[i].Namespace+"/"+list.Items[i].Name)
		}
	}
	return []figure.Figure{
		figure.Info("objects", float64(f.n), "objects"),
		figure.Info("objects of other clients", float64(len(others)), "objects", others...),
	}, nil
}

// share returns how many of the writes concern the fleet. On a shared cluster, this shows where the
// writes come from.
func (f *sharedFleet) share(requests map[audit.Class][]audit.Event) figure.Figure {
	own := audit.In(f.namespace, requests[audit.Write])
	return figure.Info("writes, of them for these objects", float64(len(own)), "requests", audit.Tally(own)...)
}

func ready(nginx *v1alpha2.NginxOperator) bool {
	return fleet.Observed(nginx) && meta.IsStatusConditionTrue(nginx.Status.Conditions, v1alpha2.ConditionReady)
}

// settle waits until the operator has reported the last change.
func (f *sharedFleet) settle(ctx context.Context) error {
	deadline := time.Now().Add(fleetSettleWithin)
	for time.Now().Before(deadline) {
		if err := pause(ctx, fleetSettle); err != nil {
			return err
		}
		recent, err := f.requests(time.Now().Add(-fleetSettle), time.Time{})
		if err != nil {
			return err
		}
		if len(recent[audit.Write]) == 0 {
			return nil
		}
	}
	return nil
}

// remove deletes a namespace and waits until it is gone, so that the next run does not share the
// cluster with the remains of this one.
func (c *cluster) remove(ctx context.Context, namespace *corev1.Namespace) error {
	if err := c.client.Delete(ctx, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	for {
		err := c.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = pause(ctx, time.Second)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("remove namespace %s", namespace.Name), err)
		}
	}
}
