package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"example.com/nginx-operator/hack/cluster/internal/addon"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// start starts the cluster. It loads the images while the API server starts: the former needs the
// disk, the latter the processor.
func (s *supervisor) start(ctx context.Context) error {
	s.report(Starting, "making the nodes")
	for _, node := range s.nodes {
		if err := s.startNode(ctx, node); err != nil {
			return err
		}
	}
	s.keep(ctx, s.spec.Etcd())
	s.keep(ctx, s.spec.APIServer())
	for _, node := range s.nodes {
		s.keep(ctx, s.spec.Runtime(node))
	}
	imagesLoaded := make(chan error, 1)
	go func() { imagesLoaded <- s.loadImages(ctx) }()

	s.report(Starting, "waiting for the API server")
	if err := s.await(ctx, "the API server", s.api.serving); err != nil {
		return err
	}
	s.keep(ctx, s.spec.ControllerManager())
	s.keep(ctx, s.spec.Scheduler())
	if err := s.applyAddons(ctx); err != nil {
		return err
	}
	s.report(Starting, "waiting for the images")
	if err := <-imagesLoaded; err != nil {
		return err
	}
	for _, node := range s.nodes {
		s.keep(ctx, s.spec.KubeProxy(node))
		s.keep(ctx, s.spec.Kubelet(node))
		s.keep(ctx, s.spec.VolumeProvisioner(node))
	}
	s.report(Starting, "waiting for the nodes")
	if err := s.await(ctx, "the nodes", s.api.nodesReady); err != nil {
		return err
	}
	s.report(Starting, "waiting for DNS")
	return s.await(ctx, "DNS", s.resolves)
}

// startNode creates a node's namespaces and connects them.
func (s *supervisor) startNode(ctx context.Context, node topology.Node) error {
	holder, err := sandbox.StartNode(s.cluster, s.config.Network, node)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.holders[node] = holder
	s.mu.Unlock()
	go func() {
		// It does not matter how it ended: nothing more can be started on the node.
		_, _ = holder.Wait()
		s.lost <- node
	}()
	if node != topology.ControlPlane {
		if err := run(ctx, node.Join(holder.Pid), "ip", "-batch", "-"); err != nil {
			return err
		}
	}
	return run(ctx, s.config.Network.Links(node, s.nodes), sandbox.NsenterCommand(holder.Pid, false, "ip", "-batch", "-")...)
}

// loadImages loads the archives into all nodes at the same time, and into each node one after the
// other.
func (s *supervisor) loadImages(ctx context.Context) error {
	results := make([]error, len(s.nodes))
	var all sync.WaitGroup
	for i, node := range s.nodes {
		all.Go(func() { results[i] = s.loadInto(ctx, node) })
	}
	all.Wait()
	return errors.Join(results...)
}

func (s *supervisor) loadInto(ctx context.Context, node topology.Node) error {
	ctr := func(arguments ...string) []string {
		return sandbox.NsenterCommand(s.holders[node].Pid, false, append([]string{filepath.Join(s.config.Containerd, "ctr")}, arguments...)...)
	}
	if err := s.await(ctx, "containerd", func(ctx context.Context) error { return run(ctx, "", ctr("version")...) }); err != nil {
		return err
	}
	for _, archive := range s.config.Images {
		if err := run(ctx, "", ctr("--namespace=k8s.io", "images", "import", "--no-unpack", archive)...); err != nil {
			return fmt.Errorf("loading %s into %s: %w", archive, node.Name(), err)
		}
	}
	return nil
}

func (s *supervisor) applyAddons(ctx context.Context) error {
	manifests, err := addon.Initial(s.config.Network, s.nodes, s.config.CoreDNSImage)
	if err != nil {
		return err
	}
	return run(ctx, string(manifests), filepath.Join(s.config.Kubernetes, "kubectl"),
		"--kubeconfig", s.cluster.InternalKubeconfig(), "apply", "--server-side", "--filename", "-")
}

// run runs a command and waits until it ends.
func run(ctx context.Context, stdin string, line ...string) error {
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, bytes.TrimSpace(output))
	}
	return nil
}
