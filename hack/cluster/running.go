package main

import (
	"path/filepath"

	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// runningCluster is a running cluster.
type runningCluster struct {
	cluster state.Cluster
	config  supervisor.Config
	status  supervisor.Status
}

// findRunning returns the running cluster, or an error that explains why there is none.
func findRunning(cache state.Cache) (runningCluster, error) {
	cluster := cache.Cluster()
	if err := sandbox.CheckRunning(cluster); err != nil {
		return runningCluster{}, err
	}
	config, err := supervisor.ReadConfig(cluster)
	if err != nil {
		return runningCluster{}, err
	}
	status, err := supervisor.ReadStatus(cluster)
	return runningCluster{cluster: cluster, config: config, status: status}, err
}

// commandLine returns the command line that runs a command in a node's namespaces.
func (r runningCluster) commandLine(node topology.Node, command ...string) ([]string, error) {
	inside, err := r.status.NodePID(node)
	if err != nil {
		return nil, err
	}
	pid, err := sandbox.MachinePID(inside)
	return sandbox.NsenterCommand(pid, true, command...), err
}

func (r runningCluster) ctr() string { return filepath.Join(r.config.Containerd, "ctr") }
