package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/standin/node"
	"example.com/nginx-operator/test/testenv"
)

// isReal tells whether the pods of a namespace are real ones.
func isReal(namespace string) bool { return strings.HasPrefix(namespace, campaign.RealPrefix+"-") }

// unpack makes what real containers are made of; nil: there are to be none. Somebody who cannot have
// them learns it before anything is started. What it returns takes them away.
func (o *options) unpack() (*node.Images, func() error, error) {
	if o.images == "" {
		return nil, func() error { return nil }, nil
	}
	progress("images are unpacked")
	dir, err := os.MkdirTemp("", "fault-images-")
	if err != nil {
		return nil, nil, err
	}
	images, err := node.Unpack(o.images, o.instance, dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w; --images= (make fault NGINX=) plays without real instances", err), os.RemoveAll(dir))
	}
	return images, func() error { return os.RemoveAll(dir) }, nil
}

// real adds a stage with real instances to a stage. What it returns waits for their end, after that
// of the context.
func (o *options) real(ctx context.Context, plane *testenv.ControlPlane, stage *campaign.Stage, images *node.Images) (wait func() error, err error) {
	if images == nil {
		return func() error { return nil }, nil
	}
	dir := filepath.Join(stage.Dir, "pods")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	n, err := node.Start(ctx, plane.Config, node.Options{Dir: dir, Images: images, Mine: isReal})
	if err != nil {
		return nil, err
	}
	other, err := campaign.NewStage(ctx, plane.Config, plane.Client)
	if err != nil {
		return nil, err
	}
	other.Dir, other.Program, other.Means = stage.Dir, stage.Program, stage.Means
	stage.Real = campaign.NewReal(other, n, o.realParallel)
	return func() error { n.Wait(); return other.Close() }, nil
}
