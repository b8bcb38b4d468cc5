package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/build"
	"example.com/nginx-operator/hack/cluster/internal/cgroup"
	"example.com/nginx-operator/hack/cluster/internal/component"
	"example.com/nginx-operator/hack/cluster/internal/host"
	"example.com/nginx-operator/hack/cluster/internal/image"
	"example.com/nginx-operator/hack/cluster/internal/pki"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// preferredPort is the preferred port of the forwarder. If it is in use, another one is chosen; the
// kubeconfig contains it.
const preferredPort = 16443

// upOptions is what the user has chosen. A running cluster is compared only with what was given.
type upOptions struct {
	nodes   int
	network topology.Network
	// kubelet is the minor version of kubelet and kube-proxy.
	kubelet                                string
	nodesGiven, networkGiven, kubeletGiven bool
}

func newUpCommand() *cobra.Command {
	var options upOptions
	var family string
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, building what is missing; wait until it is ready",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if options.nodes < 1 || options.nodes > topology.MaxNodes {
				return fmt.Errorf("--nodes is %d: it must be from 1 to %d", options.nodes, topology.MaxNodes)
			}
			var err error
			if options.network, err = topology.ParseNetwork(family); err != nil {
				return fmt.Errorf("--ip-family: %w", err)
			}
			if _, err := build.KubeletComponent(options.kubelet); err != nil {
				return fmt.Errorf("--kubelet: %w", err)
			}
			options.nodesGiven = command.Flags().Changed("nodes")
			options.networkGiven = command.Flags().Changed("ip-family")
			options.kubeletGiven = command.Flags().Changed("kubelet")
			progress := newProgress(command)
			return withCluster(progress, func(cache state.Cache) error {
				return up(command.Context(), cache, options, progress)
			})
		},
	}
	command.Flags().IntVar(&options.nodes, "nodes", 2, "number of nodes")
	command.Flags().StringVar(&family, "ip-family", string(topology.IPv4),
		"address families: ipv4, ipv6, dual-stack (IPv4 is the primary one) or dual-stack-ipv6 (IPv6 is)")
	command.Flags().StringVar(&options.kubelet, "kubelet", build.ClusterVersion(),
		"version of kubelet and kube-proxy: "+strings.Join(build.KubeletVersions(), ", "))
	return command
}

func up(ctx context.Context, cache state.Cache, options upOptions, progress *log.Logger) error {
	start := time.Now()
	cluster := cache.Cluster()
	err := sandbox.CheckRunning(cluster)
	if err == nil {
		return upAgain(ctx, cluster, options, progress)
	}
	if !errors.Is(err, sandbox.ErrNotRunning) {
		return err
	}
	config, err := prepare(ctx, cache, options, progress)
	if err != nil {
		return err
	}
	// A previous cluster may have died without being cleaned up.
	if err := endCluster(cluster); err != nil {
		return err
	}
	if err := launch(ctx, cluster, config, progress); err != nil {
		return err
	}
	progress.Printf("ready after %s: export KUBECONFIG=%s", time.Since(start).Round(100*time.Millisecond), cluster.Kubeconfig())
	return nil
}

// upAgain is `up` while the cluster runs, or while an interrupted call is still starting it. It
// waits until the cluster is ready.
func upAgain(ctx context.Context, cluster state.Cluster, options upOptions, progress *log.Logger) error {
	if err := awaitReady(ctx, cluster, nil, progress); err != nil {
		return err
	}
	config, err := supervisor.ReadConfig(cluster)
	if err != nil {
		return err
	}
	if err := options.compare(config); err != nil {
		return err
	}
	progress.Printf("the cluster is running already: export KUBECONFIG=%s", cluster.Kubeconfig())
	return nil
}

// compare returns an error if the running cluster is not the one that was asked for.
func (o upOptions) compare(running supervisor.Config) error {
	if o.nodesGiven && o.nodes != running.Nodes {
		return fmt.Errorf("the cluster runs with %d node(s), not %d: run down first", running.Nodes, o.nodes)
	}
	if o.networkGiven && o.network != running.Network {
		return fmt.Errorf("the cluster runs with the IP family %s, not %s: run down first", running.Network, o.network)
	}
	if o.kubeletGiven && o.kubelet != running.KubeletVersion {
		return fmt.Errorf("the cluster runs with kubelets of %s, not %s: run down first", running.KubeletVersion, o.kubelet)
	}
	return nil
}

// prepare creates everything that outlives a cluster.
func prepare(ctx context.Context, cache state.Cache, options upOptions, progress *log.Logger) (supervisor.Config, error) {
	if err := host.Install(ctx, progress, host.Cluster); err != nil {
		return supervisor.Config{}, err
	}
	if err := host.LoadModules(); err != nil {
		return supervisor.Config{}, err
	}
	components := build.Components()
	kubelet, err := build.KubeletComponent(options.kubelet)
	if err != nil {
		return supervisor.Config{}, err
	}
	if kubelet.Name != build.Kubernetes {
		components = append(components, kubelet)
	}
	programs, err := buildComponents(ctx, cache, progress, components...)
	if err != nil {
		return supervisor.Config{}, err
	}
	pause := image.Binary{
		Tag: component.PauseImage, Entrypoint: "/pause", User: "65532",
		Files: []string{filepath.Join(programs[build.Pause], "pause") + "=/pause"},
	}
	coreDNS := image.Binary{
		Tag: "localhost/coredns:" + build.CoreDNSVersion, Entrypoint: "/coredns", User: "65532",
		Files: []string{filepath.Join(programs[build.CoreDNS], "coredns") + "=/coredns"},
	}
	archives := []string{filepath.Join(cache.Images(), "pause.tar"), filepath.Join(cache.Images(), "coredns.tar")}
	if err := errors.Join(pause.Write(archives[0]), coreDNS.Write(archives[1])); err != nil {
		return supervisor.Config{}, err
	}
	// The name of an unfinished copy by `load` begins with a dot.
	loaded, err := filepath.Glob(filepath.Join(cache.LoadedImages(), "[^.]*"))
	return supervisor.Config{
		Nodes:          options.nodes,
		Network:        options.network,
		Kubernetes:     programs[build.Kubernetes],
		Containerd:     programs[build.Containerd],
		NodePrograms:   programs[kubelet.Name],
		KubeletVersion: options.kubelet,
		CoreDNSImage:   coreDNS.Tag,
		Images:         append(archives, loaded...),
	}, err
}

// launch creates everything that belongs to one cluster, and starts it.
func launch(ctx context.Context, cluster state.Cluster, config supervisor.Config, progress *log.Logger) error {
	listener, err := listen()
	if err != nil {
		return err
	}
	forwarder := "https://" + listener.Addr().String()
	nodes := topology.Nodes(config.Nodes)
	if err := writeFiles(cluster, nodes, forwarder, config); err != nil {
		return err
	}
	for _, name := range append([]string{cgroup.ComponentsCgroup}, nodeNames(nodes)...) {
		if err := cgroup.Create(name); err != nil {
			return err
		}
	}
	socket, err := listener.File()
	if err != nil {
		return err
	}
	command, err := sandbox.Launch(cluster, socket)
	if err := errors.Join(err, socket.Close(), listener.Close()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return awaitReady(ctx, cluster, ended, progress)
}

// listen opens the machine's side of the forwarder, on the loopback interface only.
func listen() (*net.TCPListener, error) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: preferredPort}
	listener, err := net.ListenTCP("tcp4", address)
	if err != nil {
		address.Port = 0
		listener, err = net.ListenTCP("tcp4", address)
	}
	return listener, err
}

func writeFiles(cluster state.Cluster, nodes []topology.Node, forwarder string, config supervisor.Config) error {
	if err := errors.Join(os.MkdirAll(cluster.Logs(), 0o755), os.MkdirAll(cluster.Audit(""), 0o755)); err != nil {
		return err
	}
	policy, err := component.AuditPolicy()
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(cluster.Audit("policy.yaml"), policy, 0o600),
		pki.Write(cluster, config.Network, nodes, forwarder),
		supervisor.WriteConfig(cluster, config),
	); err != nil {
		return err
	}
	for _, node := range nodes {
		files, err := component.NodeFiles(cluster, config.Network, node, config.KubeletVersion)
		if err != nil {
			return err
		}
		for name, content := range files {
			path := cluster.Node(int(node), name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600)); err != nil {
				return err
			}
		}
	}
	return nil
}

func nodeNames(nodes []topology.Node) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name()
	}
	return names
}

// awaitReady follows the supervisor's status until the cluster is ready. If another call has
// started the cluster, it is not a child of this process, and ended is nil.
func awaitReady(ctx context.Context, cluster state.Cluster, ended <-chan error, progress *log.Logger) error {
	said := ""
	for {
		status, err := supervisor.ReadStatus(cluster)
		if err != nil {
			return err
		}
		if status.Phase == supervisor.Ready {
			return nil
		}
		if status.Message != "" && status.Message != said && status.Phase == supervisor.Starting {
			said = status.Message
			progress.Println(said, "...")
		}
		select {
		case err := <-ended:
			return startFailure(cluster, err)
		case <-ctx.Done():
			return fmt.Errorf("interrupted; the cluster continues to start (run down to stop it): %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		if err := sandbox.CheckRunning(cluster); ended == nil && err != nil {
			return startFailure(cluster, err)
		}
	}
}

// startFailure returns the reason: the supervisor's message or, without one, its log.
func startFailure(cluster state.Cluster, ended error) error {
	status, err := supervisor.ReadStatus(cluster)
	if err == nil && status.Phase == supervisor.Failed {
		return fmt.Errorf("the cluster did not start: %s", status.Message)
	}
	log, logErr := os.ReadFile(cluster.Log("supervisor", 0))
	return errors.Join(fmt.Errorf("the cluster died while starting: %w\n%s", ended, log), err, logErr)
}
