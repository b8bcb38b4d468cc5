package main

import (
	"context"
	"errors"
	"log"
	"path/filepath"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/build"
	"example.com/nginx-operator/hack/cluster/internal/host"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// newProgress is where verbs say what they are doing: not where their results go.
func newProgress(command *cobra.Command) *log.Logger {
	return log.New(command.ErrOrStderr(), "", 0)
}

// withCache is for verbs that change files of the cache: they wait for each other.
func withCache(progress *log.Logger, change func(state.Cache) error) (err error) {
	cache, err := state.DefaultCache()
	if err != nil {
		return err
	}
	unlock, err := host.Lock(cache.Lock(), progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return change(cache)
}

// withCluster is for verbs that change the cluster.
func withCluster(progress *log.Logger, change func(state.Cache) error) error {
	if err := host.Check(); err != nil {
		return err
	}
	return withCache(progress, change)
}

func buildComponents(ctx context.Context, cache state.Cache, progress *log.Logger, components ...build.Component) (build.Programs, error) {
	source, err := build.FindSource()
	if err != nil {
		return nil, err
	}
	builder := build.Builder{Cache: cache, Source: source, Progress: progress}
	return builder.All(ctx, components...)
}

// running is the state of a cluster that runs.
type running struct {
	cluster state.Cluster
	config  supervisor.Config
	status  supervisor.Status
}

// findRunning also says why there may be none.
func findRunning(cache state.Cache) (running, error) {
	cluster := cache.Cluster()
	if err := sandbox.Find(cluster); err != nil {
		return running{}, err
	}
	config, err := supervisor.ReadConfig(cluster)
	if err != nil {
		return running{}, err
	}
	status, err := supervisor.ReadStatus(cluster)
	return running{cluster: cluster, config: config, status: status}, err
}

// commandLine runs a command in a node's namespaces, from the machine.
func (r running) commandLine(node topology.Node, command ...string) ([]string, error) {
	inside, err := r.status.NodePID(node)
	if err != nil {
		return nil, err
	}
	pid, err := sandbox.MachinePID(inside)
	return sandbox.Enter(pid, true, command...), err
}

func (r running) ctr() string { return filepath.Join(r.config.Containerd, "ctr") }
