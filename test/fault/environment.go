package main

import (
	"context"
	"errors"
	"os"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/standin/kubelet"
	"example.com/nginx-operator/test/testenv"
)

// environment is a control plane with stand-ins for the rest of a cluster.
type environment struct {
	plane *testenv.ControlPlane
	pods  *kubelet.Kubelet
	// dir is the folder for logs and other files.
	dir string
}

// installer installs the CRDs of an operator. The returned function stops what the CRDs need.
type installer func(ctx context.Context, plane *testenv.ControlPlane, dir string) (end func(), err error)

// inEnvironment starts an environment, runs a function in it, and stops the environment. keep is
// the folder in which the files are kept; empty: they are removed.
func inEnvironment(ctx context.Context, keep string, install installer, do func(context.Context, *environment) error) (err error) {
	h := &environment{dir: keep}
	if h.dir != "" {
		if err := os.MkdirAll(h.dir, 0o700); err != nil {
			return err
		}
	} else {
		if h.dir, err = os.MkdirTemp("", "fault-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(h.dir)) }()
	}
	progress("starting a control plane")
	if h.plane, err = testenv.Start(h.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.plane.Stop()) }()
	end, err := install(ctx, h.plane, h.dir)
	if err != nil {
		return err
	}
	defer end()
	if err := h.plane.Client.Create(ctx, growing()); err != nil {
		return err
	}
	manager, err := h.plane.StartControllerManager(h.dir, "deployment-controller", "replicaset-controller", "statefulset-controller", "garbage-collector-controller",
		"horizontal-pod-autoscaler-controller", "persistentvolumeclaim-protection-controller")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Stop()) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if h.pods, err = kubelet.Start(watching, h.plane.Config, kubelet.Except(isReal)); err != nil {
		return err
	}
	return do(ctx, h)
}

// growing returns a StorageClass whose volumes grow.
func growing() *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "growing"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true)}
}

// newStage creates a stage in the environment.
func (h *environment) newStage(ctx context.Context) (*suite.Stage, error) {
	stage, err := suite.NewStage(ctx, h.plane.Config, h.plane.Client)
	if err == nil {
		stage.Dir, stage.Pods = h.dir, h.pods
	}
	return stage, err
}
