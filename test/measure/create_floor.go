package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/test/internal/bare"
	"example.com/nginx-operator/test/internal/process"
)

// floorRun is what a bare client reaches on the same control plane.
type floorRun struct {
	// kinds are what an application owns.
	kinds []desired.Kind
	// applications is the time for the same writes, deployments for a Deployment each.
	applications, deployments time.Duration
	// controlPlane is the processor time of the API server and etcd for applications.
	controlPlane time.Duration
}

// runFloor makes the operator's writes without the operator.
func (b *createBench) runFloor(ctx context.Context, sample v1alpha2.NginxOperatorStatus) (run floorRun, err error) {
	template, err := bare.NewTemplate(floorNamespace, createImage, sample)
	if err != nil {
		return run, err
	}
	account, err := client.New(b.account, client.Options{Scheme: b.plane.Client.Scheme()})
	if err != nil {
		return run, err
	}
	run.kinds = template.Kinds()
	// What the operator was timed for has to exist.
	if err := b.check(ctx, run.kinds); err != nil {
		return run, err
	}
	writers := bare.Writers{Administrator: b.plane.Client, Operator: account}
	run.controlPlane, err = process.ControlPlaneTime(func() error {
		run.applications, err = template.Applications(ctx, writers, b.n)
		return err
	})
	if err != nil {
		return run, err
	}
	run.deployments, err = template.Deployments(ctx, account, bareNamespace, b.n)
	return run, err
}

// check makes sure that every object of an application has been made.
func (b *createBench) check(ctx context.Context, kinds []desired.Kind) error {
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GVK)
		err := b.client.List(ctx, list, client.InNamespace(createNamespace),
			client.MatchingLabelsSelector{Selector: naming.OwnedSelector()})
		if err != nil {
			return err
		}
		if want := b.n * rows(kinds, kind.Name); len(list.Items) != want {
			return fmt.Errorf("there are %d objects of kind %s instead of %d", len(list.Items), kind.Name, want)
		}
	}
	return nil
}

// rows is how many objects of the kind of a name an application owns.
func rows(kinds []desired.Kind, name string) int {
	n := 0
	for _, kind := range kinds {
		if kind.Name == name {
			n++
		}
	}
	return n
}
