package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// StartNode creates a node's namespaces and returns the process that holds them. Node 1 shares the
// control plane's network; the others have their own.
func StartNode(cluster state.Cluster, network topology.Network, node topology.Node) (*os.Process, error) {
	command := reexec(NodeVerb, string(cluster), strconv.Itoa(int(node)), string(network))
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC}
	if node != topology.ControlPlane {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	}
	ready, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("making the namespaces of %s: %w", node.Name(), err)
	}
	if message, err := io.ReadAll(ready); err != nil || len(message) == 0 {
		return nil, errors.Join(fmt.Errorf("setting up %s failed, see the supervisor's log", node.Name()), err)
	}
	return command.Process, nil
}

// HoldNode sets up a node's namespaces, prints that it is ready, and then only holds them.
func HoldNode(cluster state.Cluster, network topology.Network, number int) error {
	if err := unix.Sethostname([]byte(topology.Node(number).Name())); err != nil {
		return err
	}
	if err := mountNode(cluster, number); err != nil {
		return err
	}
	if err := setSysctls(network); err != nil {
		return err
	}
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	return nil
}

// setSysctls sets the values of the node's network namespace.
func setSysctls(network topology.Network) error {
	values := map[string]string{
		"ipv4/ip_forward": "1",
		// When a pod reaches a pod on its own node through a Service, the answer crosses the
		// bridge. Only this setting passes it to the packet filter, which restores the address.
		"bridge/bridge-nf-call-iptables": "1",
	}
	if network.HasIPv6() {
		values["ipv6/conf/all/forwarding"] = "1"
		values["bridge/bridge-nf-call-ip6tables"] = "1"
		// Duplicate address detection takes a second, in which an address cannot be used.
		values["ipv6/conf/all/accept_dad"] = "0"
		values["ipv6/conf/default/accept_dad"] = "0"
	}
	for name, value := range values {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}
