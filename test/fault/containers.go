package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/standin/node"
	"example.com/nginx-operator/test/testenv"
)

// isReal reports whether the pods of a namespace run real containers.
func isReal(namespace string) bool { return strings.HasPrefix(namespace, suite.RealPrefix+"-") }

// unpack unpacks the images for real containers; nil: run none. It runs before anything is started,
// so that a missing image is reported early. The returned function removes the files.
func (o *options) unpack() (*node.Images, func() error, error) {
	if o.images == "" {
		return nil, func() error { return nil }, nil
	}
	progress("unpacking images")
	dir, err := os.MkdirTemp("", "fault-images-")
	if err != nil {
		return nil, nil, err
	}
	images, err := node.Unpack(o.images, o.instance, dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w; to run without real instances, set --images= (make fault NGINX=)", err), os.RemoveAll(dir))
	}
	return images, func() error { return os.RemoveAll(dir) }, nil
}

// real adds a stage with real instances to a stage. The returned function waits until the instances
// end, so cancel the context first.
func (o *options) real(ctx context.Context, plane *testenv.ControlPlane, stage *suite.Stage, images *node.Images) (wait func() error, err error) {
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
	other, err := suite.NewStage(ctx, plane.Config, plane.Client)
	if err != nil {
		return nil, err
	}
	other.Dir, other.Program, other.Means = stage.Dir, stage.Program, stage.Means
	stage.Real = suite.NewReal(other, n, o.realParallel)
	return func() error { n.Wait(); return other.Close() }, nil
}
