// Command cluster builds, starts and stops a real Kubernetes on one machine.
// See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A real Kubernetes on this machine, for development and tests",
		Long: `A real Kubernetes on this machine, for development and tests.

Everything is kept below $NGINX_OPERATOR_CACHE (else nginx-operator in the
user's cache folder). The cluster lives in namespaces of its own: nothing else
on the machine is changed, and nothing it sends can leave the machine.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newUpCommand(), newDownCommand(), newStatusCommand(), newLoadCommand(), newAddonCommand(), newPushCommand(),
		newKubeconfigCommand(), newAuditLogPathCommand(), newLogsCommand(), newExecCommand(),
		newEnvtestAssetsCommand(), newAPIServerCommand(), newImageCommand(), newCleanCommand(),
	)
	root.AddCommand(newSandboxCommands()...)
	return root
}

// newSandboxCommands returns the hidden commands that the tool runs inside the cluster's
// namespaces.
func newSandboxCommands() []*cobra.Command {
	hidden := func(verb string, arguments int, run func(cluster state.Cluster, arguments []string) error) *cobra.Command {
		return &cobra.Command{
			Use:    verb,
			Hidden: true,
			Args:   cobra.ExactArgs(arguments),
			RunE: func(_ *cobra.Command, arguments []string) error {
				return run(state.Cluster(arguments[0]), arguments[1:])
			},
		}
	}
	return []*cobra.Command{
		hidden(sandbox.InitVerb, 1, func(cluster state.Cluster, _ []string) error { return sandbox.Init(cluster) }),
		hidden(sandbox.SuperviseVerb, 1, func(cluster state.Cluster, _ []string) error { return supervisor.Run(cluster) }),
		hidden(sandbox.NodeVerb, 3, func(cluster state.Cluster, arguments []string) error {
			number, err := strconv.Atoi(arguments[0])
			if err != nil {
				return err
			}
			return sandbox.HoldNode(cluster, topology.Network(arguments[1]), number)
		}),
	}
}
