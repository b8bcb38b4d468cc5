// Package supervisor starts the cluster's components in order, keeps them running, and stops them.
// It runs inside the cluster's namespaces and communicates with the machine through files: it reads
// its configuration, and writes its status on every change.
package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/component"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

type supervisor struct {
	cluster state.Cluster
	config  Config
	nodes   []topology.Node
	spec    component.Cluster
	api     *api
	holders map[topology.Node]*os.Process
	// lost receives the first node whose namespaces are gone.
	lost chan topology.Node

	mu        sync.Mutex
	phase     Phase
	message   string
	processes []*process
}

// Run runs the supervisor. It returns nil if it was requested to stop.
func Run(cluster state.Cluster) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	s, err := newSupervisor(cluster)
	if err != nil {
		return err
	}
	err = s.start(ctx)
	if err == nil {
		s.report(Ready, "")
		select {
		case <-ctx.Done():
		case node := <-s.lost:
			err = fmt.Errorf("the namespaces of %s are gone", node.Name())
		}
	}
	if ctx.Err() != nil {
		s.report(Stopping, "")
		s.stop()
		return nil
	}
	s.report(Failed, err.Error())
	return err
}

func newSupervisor(cluster state.Cluster) (*supervisor, error) {
	config, err := ReadConfig(cluster)
	if err != nil {
		return nil, err
	}
	file, err := sandbox.Isolate(cluster)
	if err != nil {
		return nil, err
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("taking over the forwarder's socket: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	go forward(listener, config.Network.APIServerAddress())

	nodes := topology.Nodes(config.Nodes)
	client, err := newAPI(cluster, config.Network.APIServer())
	return &supervisor{
		cluster: cluster,
		config:  config,
		nodes:   nodes,
		api:     client,
		spec: component.Cluster{
			Dir: cluster, Network: config.Network,
			Kubernetes: config.Kubernetes, Containerd: config.Containerd, NodePrograms: config.NodePrograms,
		},
		holders: map[topology.Node]*os.Process{},
		lost:    make(chan topology.Node, len(nodes)),
	}, err
}

// keep starts a component and keeps it running.
func (s *supervisor) keep(ctx context.Context, c component.Component) {
	p := &process{
		component: c,
		holder:    s.holders[c.Node].Pid,
		cluster:   s.cluster,
		// containerd looks for its shim in its own folder.
		path:    s.config.Containerd + ":" + s.config.Kubernetes + ":" + os.Getenv("PATH"),
		changed: s.writeStatus,
	}
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	// stop ends the components in its own order; the context would end all at once.
	startProcess(context.WithoutCancel(ctx), p)
}

// stop ends the components, the last started first. The containers that they leave end with process
// 1.
func (s *supervisor) stop() {
	for _, p := range slices.Backward(s.processes) {
		p.stop()
	}
}

// await polls a condition, and gives up if a component keeps failing.
func (s *supervisor) await(ctx context.Context, what string, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if failing := s.failing(); failing != nil {
			return failing
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(err, ctx.Err()))
		}
	}
}

// failing returns an error if a component keeps failing.
func (s *supervisor) failing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if status := p.snapshot(); status.Restarts >= 3 {
			return fmt.Errorf("%s keeps exiting (%s), see %s", status.Name, status.LastExit,
				s.cluster.Log(status.Name, status.Node))
		}
	}
	return nil
}

func (s *supervisor) report(phase Phase, message string) {
	s.mu.Lock()
	s.phase, s.message = phase, message
	s.mu.Unlock()
	fmt.Println(phase, message)
	s.writeStatus()
}

func (s *supervisor) writeStatus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{Phase: s.phase, Message: s.message}
	for node, holder := range s.holders {
		status.Nodes = append(status.Nodes, NodeStatus{Node: node, PID: holder.Pid})
	}
	slices.SortFunc(status.Nodes, func(a, b NodeStatus) int { return int(a.Node - b.Node) })
	for _, p := range s.processes {
		status.Components = append(status.Components, p.snapshot())
	}
	content, err := json.MarshalIndent(status, "", "  ")
	if err == nil {
		err = state.ReplaceFile(s.cluster.Status(), content, 0o644)
	}
	if err != nil {
		fmt.Println("writing the status:", err)
	}
}
