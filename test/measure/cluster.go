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

	"example.com/nginx-operator/internal/manager"
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

// openCluster connects to the cluster that the environment specifies.
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
	scheme, err := manager.Scheme()
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

// checkLog checks that the audit log is that of this cluster. In the log of an earlier cluster, the
// operator would seem to make no requests.
func (c *cluster) checkLog() error {
	recent, err := c.log.Requests(audit.Filter{User: c.user, Since: time.Now().Add(-time.Minute)})
	if err != nil {
		return err
	}
	if len(recent) == 0 {
		return fmt.Errorf("the audit log %s contains no request of %s in the last minute, although it renews its lease: check that AUDIT_LOG is the log of the cluster of KUBECONFIG", c.log.Path, c.user)
	}
	return nil
}

func (c *cluster) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: process.Account.Namespace, Name: operatorName}
	return deployment, c.client.Get(ctx, key, deployment)
}

// rolledOut reports whether all pods of a Deployment have its newest template and are available,
// and no others are left.
func rolledOut(d *appsv1.Deployment) bool {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
}

// leader returns the holder of the operator's lease; empty: there is none.
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

// requests returns the operator's requests in a time span, by class.
func (c *cluster) requests(since, until time.Time) (map[audit.Class][]audit.Event, error) {
	events, err := c.log.Requests(audit.Filter{User: c.user, Since: since, Until: until})
	if err != nil {
		return nil, err
	}
	return audit.ByClass(events, process.Account.Namespace), nil
}
