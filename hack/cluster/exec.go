package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func newExecCommand() *cobra.Command {
	var node int
	command := &cobra.Command{
		Use:   "exec [--node N] -- COMMAND [ARGUMENT...]",
		Short: "Run a command of this machine inside a node: with its network, mounts and processes",
		Long: `Run a command of this machine inside a node: with its network, mounts and processes.

kubectl (as administrator) and ctr are available. The node has its own /tmp, /run,
/var/lib and /var/log; all other files are the machine's.`,
		Example: `  cluster exec -- ctr --namespace k8s.io containers list
  cluster exec --node 2 -- curl http://10.30.0.20/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			cache, err := state.DefaultCache()
			if err != nil {
				return err
			}
			found, err := findRunning(cache)
			if err != nil {
				return err
			}
			return found.exec(topology.Node(node), arguments)
		},
	}
	command.Flags().IntVar(&node, "node", 1, "number of the node, from 1")
	return command
}

// exec replaces this process by the command, so that signals, terminals and exit codes work without
// further code.
func (r runningCluster) exec(node topology.Node, command []string) error {
	path := "PATH=" + r.config.Kubernetes + ":" + r.config.Containerd + ":" + os.Getenv("PATH")
	env := []string{"env", "--chdir=/"}
	// No proxy can be reached from inside.
	for _, proxy := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env = append(env, "--unset="+proxy)
	}
	env = append(env, path, "KUBECONFIG="+r.cluster.InternalKubeconfig())
	line, err := r.commandLine(node, append(env, command...)...)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(line[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("running %s: %w", program, syscall.Exec(program, line, os.Environ()))
}
