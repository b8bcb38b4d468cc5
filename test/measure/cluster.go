package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/operator"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/process"
)

// operatorName is the name of the operator's Deployment and of its lease.
const operatorName = "nginx-operator"

// cluster is a running cluster with the operator deployed.
type cluster struct {
	client client.WithWatch
	log    audit.Log
	user   string
}

// openCluster connects to the cluster that the environment names.
func openCluster(ctx context.Context) (*cluster, error) {
	kubeconfig, path := os.Getenv("KUBECONFIG"), os.Getenv("AUDIT_LOG")
	if kubeconfig == "" {
		return nil, errors.New("KUBECONFIG is not set: set it to the kubeconfig of a cluster that runs the operator")
	}
	if path == "" {
		return nil, errors.New("AUDIT_LOG is not set: set it to the path of the audit log (JSON lines, level Metadata or more) that the cluster's API server writes")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	config.QPS = -1
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	c := &cluster{log: audit.Log{Path: path}, user: process.Username()}
	if c.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	deployment, err := c.deployment(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the operator in the cluster of KUBECONFIG: %w", err)
	}
	if !rolledOut(deployment) {
		return nil, errors.New("the operator's pods are not all ready")
	}
	return c, c.checkLog()
}

// checkLog makes sure that the audit log is that of this cluster: the one of an
// earlier cluster would tell of an operator that asks for nothing.
func (c *cluster) checkLog() error {
	recent, err := c.log.Requests(audit.Filter{User: c.user, Since: time.Now().Add(-time.Minute)})
	if err != nil {
		return err
	}
	if len(recent) == 0 {
		return fmt.Errorf("the audit log %s tells of no request of %s in the last minute, although it renews its lease: is AUDIT_LOG the log of the cluster of KUBECONFIG?", c.log.Path, c.user)
	}
	return nil
}

func (c *cluster) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: process.Account.Namespace, Name: operatorName}
	return deployment, c.client.Get(ctx, key, deployment)
}

// rolledOut tells whether every pod of a Deployment is of its newest template and
// available, and no other is left.
func rolledOut(d *appsv1.Deployment) bool {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
}

// leader is who holds the operator's lease, empty when nobody does.
func (c *cluster) leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: process.Account.Namespace, Name: operatorName}
	if err := c.client.Get(ctx, key, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}

// requests are those of the operator in a span of time, by class.
func (c *cluster) requests(since, until time.Time) (map[audit.Class][]audit.Event, error) {
	events, err := c.log.Requests(audit.Filter{User: c.user, Since: since, Until: until})
	if err != nil {
		return nil, err
	}
	return audit.ByClass(events, process.Account.Namespace), nil
}
