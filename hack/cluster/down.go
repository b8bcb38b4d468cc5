package main

import (
	"errors"
	"log"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/cgroup"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

// downGrace bounds how long the components may take to stop. The API server alone may need several
// seconds to close its watches.
const downGrace = 20 * time.Second

func newDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and delete its state, except loaded images",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			progress := newProgress(command)
			return withCluster(progress, func(cache state.Cache) error { return down(cache, progress) })
		},
	}
}

func down(cache state.Cache, progress *log.Logger) error {
	start := time.Now()
	found := sandbox.CheckRunning(cache.Cluster())
	if found != nil && !errors.Is(found, sandbox.ErrNotRunning) {
		return found
	}
	if err := endCluster(cache.Cluster()); err != nil {
		return err
	}
	if found != nil {
		progress.Println(found)
		return nil
	}
	progress.Printf("stopped after %s", time.Since(start).Round(100*time.Millisecond))
	return nil
}

// endCluster ends the cluster's processes and removes the files and empty cgroups that they leave
// on the machine.
func endCluster(cluster state.Cluster) error {
	if err := sandbox.Stop(downGrace); err != nil {
		return err
	}
	return errors.Join(cgroup.RemoveAll(), os.RemoveAll(string(cluster)))
}

func newCleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Stop the cluster and delete everything: programs, images, logs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			progress := newProgress(command)
			return withCluster(progress, func(cache state.Cache) error {
				if err := down(cache, progress); err != nil {
					return err
				}
				return errors.Join(
					os.RemoveAll(cache.Programs()), os.RemoveAll(cache.BuildLogs()),
					os.RemoveAll(cache.Images()), os.RemoveAll(cache.LoadedImages()),
				)
			})
		},
	}
}
