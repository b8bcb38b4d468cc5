package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/build"
	"example.com/nginx-operator/hack/cluster/internal/component"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func newStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether the cluster runs, and the state of its components",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cache, err := state.DefaultCache()
			if err != nil {
				return err
			}
			found, err := findRunning(cache)
			if errors.Is(err, sandbox.ErrNotRunning) {
				return lastKnown(cache.Cluster())
			}
			if err != nil {
				return err
			}
			return printStatus(command.OutOrStdout(), found)
		},
	}
}

// lastKnown returns an error that distinguishes a cluster that died from one that was stopped.
func lastKnown(cluster state.Cluster) error {
	status, err := supervisor.ReadStatus(cluster)
	if err != nil || status.Phase == "" {
		return errors.Join(sandbox.ErrNotRunning, err)
	}
	return fmt.Errorf("%w: its last known state is: %s (see `cluster logs supervisor`)",
		sandbox.ErrNotRunning, strings.TrimSuffix(string(status.Phase)+", "+status.Message, ", "))
}

func printStatus(out io.Writer, r runningCluster) error {
	var rows strings.Builder
	fmt.Fprintf(&rows, "%s %s\nKubernetes %s, kubelet and kube-proxy %s\n\n",
		r.status.Phase, r.status.Message, build.ClusterVersion(), r.config.KubeletVersion)
	fmt.Fprintln(&rows, "COMPONENT\tNODE\tSTATE\tSINCE\tRESTARTS\tLAST EXIT")
	for _, c := range r.status.Components {
		node, health := "-", "running"
		if c.Node > 0 {
			node = topology.Node(c.Node).Name()
		}
		if !c.Running {
			health = "ended"
		}
		fmt.Fprintf(&rows, "%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, node, health,
			time.Since(c.Since).Round(time.Second), c.Restarts, c.LastExit)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, err := io.WriteString(table, rows.String())
	return errors.Join(err, table.Flush())
}

func newKubeconfigCommand() *cobra.Command {
	return newPathCommand("kubeconfig", "Print the path of the kubeconfig", state.Cluster.Kubeconfig)
}

func newAuditLogPathCommand() *cobra.Command {
	return newPathCommand("audit-log", "Print the path of the API server's audit log (JSON lines)",
		func(cluster state.Cluster) string { return cluster.Audit("audit.log") })
}

func newPathCommand(verb, short string, path func(state.Cluster) string) *cobra.Command {
	return &cobra.Command{
		Use:   verb,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cache, err := state.DefaultCache()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), path(cache.Cluster()))
			return err
		},
	}
}

func newEnvtestAssetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envtest-assets",
		Short: "Print the folder of kube-apiserver, etcd and kubectl, for KUBEBUILDER_ASSETS; build them if needed",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return printPrograms(command, build.KubernetesComponent())
		},
	}
}

func newAPIServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apiserver [VERSION]",
		Short: "Print the folder of the kube-apiserver of a version such as 1.30; build it if needed. Without a version, list all",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				_, err := fmt.Fprintln(command.OutOrStdout(), strings.Join(build.APIServerVersions(), "\n"))
				return err
			}
			component, err := build.APIServerComponent(arguments[0])
			if err != nil {
				return err
			}
			return printPrograms(command, component)
		},
	}
}

// printPrograms prints the folder of a component's programs, and builds them if needed.
func printPrograms(command *cobra.Command, component build.Component) error {
	progress := newProgress(command)
	return withCache(progress, func(cache state.Cache) error {
		programs, err := buildComponents(command.Context(), cache, progress, component)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), programs[component.Name])
		return err
	})
}

func newLogsCommand() *cobra.Command {
	var node int
	var follow bool
	command := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a component, also of a cluster that died",
		Long: `Print the log of a component: supervisor, etcd, kube-apiserver,
kube-controller-manager, kube-scheduler, or a node's containerd, kubelet,
kube-proxy or volume-provisioner.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			cache, err := state.DefaultCache()
			if err != nil {
				return err
			}
			path := cache.Cluster().Log(arguments[0], 0)
			if component.PerNode(arguments[0]) {
				path = cache.Cluster().Log(arguments[0], node)
			}
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("no log of %s: %w", arguments[0], err)
			}
			tail := exec.CommandContext(command.Context(), "tail", "--lines=+1", path)
			if follow {
				tail.Args = append(tail.Args, "--follow")
			}
			tail.Stdout, tail.Stderr = command.OutOrStdout(), command.ErrOrStderr()
			return tail.Run()
		},
	}
	command.Flags().IntVar(&node, "node", 1, "number of the node of a containerd, kubelet, kube-proxy or volume-provisioner")
	command.Flags().BoolVarP(&follow, "follow", "f", false, "continue to print as the log grows")
	return command
}
