package main

import (
	"context"
	"errors"
	"os"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/standin/kubelet"
	"example.com/nginx-operator/test/testenv"
)

// house is a control plane, with what stands in for the rest of a cluster.
type house struct {
	plane *testenv.ControlPlane
	pods  *kubelet.Kubelet
	// dir takes what is written.
	dir string
}

// inHouse opens a house, and closes it after something was done in it. keep is the folder that keeps
// what is written; empty: nothing is kept.
func inHouse(ctx context.Context, keep string, do func(context.Context, *house) error) (err error) {
	h := &house{dir: keep}
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
	progress("a control plane starts")
	if h.plane, err = testenv.Start(h.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.plane.Stop()) }()
	if err := h.plane.InstallCRD(ctx, 0); err != nil {
		return err
	}
	manager, err := h.plane.StartControllerManager(h.dir, "deployment-controller", "replicaset-controller", "garbage-collector-controller")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Stop()) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if h.pods, err = kubelet.Start(watching, h.plane.Config); err != nil {
		return err
	}
	return do(ctx, h)
}

// stage makes a stage in the house.
func (h *house) stage(ctx context.Context) (*campaign.Stage, error) {
	stage, err := campaign.NewStage(ctx, h.plane.Config, h.plane.Client)
	if err == nil {
		stage.Dir, stage.Pods = h.dir, h.pods
	}
	return stage, err
}
