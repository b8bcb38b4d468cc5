// Package sandbox isolates the cluster from the machine.
//
// The cluster runs in namespaces of its own (processes, network, mounts, hostname, IPC), which the
// tool creates in three steps by re-executing itself:
//
//	Launch (on the machine)  starts Init in new namespaces and detaches from it
//	Init   (process 1)       reaps orphans; when it ends, the kernel ends everything
//	the supervisor           sets up the mounts, then starts one HoldNode per node
//	HoldNode                 holds a node's namespaces, which programs enter to run there
//
// The network has no uplink, so nothing that is sent to a pod or service address can leave the
// machine. Devices, mounts, routes and packet filter rules belong to the namespaces and disappear
// with the last process in them, however it ends.
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/hack/cluster/internal/cgroup"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

// The hidden commands with which the tool runs itself.
const (
	InitVerb      = "sandbox-init"
	SuperviseVerb = "sandbox-supervise"
	NodeVerb      = "sandbox-node"
)

// self is the running program, even if its file has been replaced meanwhile.
const self = "/proc/self/exe"

// goAhead is the message that process 1 waits for.
const goAhead = "go ahead"

// listenerFD is the file descriptor of the forwarder's socket in Init and in the supervisor.
const listenerFD = 3

// Launch starts the cluster's process 1. listener is the machine's side of the forwarder: a socket
// stays in the network namespace that it was created in.
func Launch(cluster state.Cluster, listener *os.File) (*exec.Cmd, error) {
	log, err := os.Create(cluster.Log("supervisor", 0))
	if err != nil {
		return nil, err
	}
	command := reexec(InitVerb, string(cluster))
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{listener}
	// The components inherit only these variables. The user's HTTPS_PROXY, for example, cannot be
	// reached from the cluster.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
	command.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
			unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	permission, err := command.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("making namespaces: %w", err), log.Close())
	}
	// The process can be found again only by its cgroup. It waits until it is in there, and ends if
	// this process dies before that.
	if err := cgroup.Add(cgroup.ComponentsCgroup, command.Process.Pid); err != nil {
		return nil, errors.Join(err, permission.Close(), log.Close())
	}
	_, err = io.WriteString(permission, goAhead)
	return command, errors.Join(err, permission.Close(), log.Close())
}

// Init is process 1. It starts the supervisor and ends with it. It does nothing else, since reaping
// orphans conflicts with waiting for one's own children.
func Init(cluster state.Cluster) error {
	if permission, err := io.ReadAll(os.Stdin); err != nil || string(permission) != goAhead {
		return errors.Join(errors.New("the parent died"), err)
	}
	listener := os.NewFile(listenerFD, "listener")
	supervisor := reexec(SuperviseVerb, string(cluster))
	supervisor.Stdout, supervisor.Stderr = os.Stdout, os.Stderr
	supervisor.ExtraFiles = []*os.File{listener}
	if err := supervisor.Start(); err != nil {
		return err
	}
	if err := listener.Close(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for received := range signals {
			if err := supervisor.Process.Signal(received); err != nil {
				fmt.Fprintln(os.Stderr, "forwarding a signal:", err)
			}
		}
	}()
	return reapUntil(supervisor.Process.Pid)
}

// reapUntil reaps every child until the process with the given ID has ended.
func reapUntil(pid int) error {
	for {
		var status unix.WaitStatus
		reaped, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for children: %w", err)
		}
		if reaped != pid {
			continue
		}
		if status.Signaled() {
			return fmt.Errorf("the supervisor was terminated by the signal %q", status.Signal())
		}
		if status.ExitStatus() != 0 {
			return fmt.Errorf("the supervisor ended with status %d", status.ExitStatus())
		}
		return nil
	}
}

// Isolate completes, in the supervisor, what Launch has begun, and returns the forwarder's socket.
func Isolate(cluster state.Cluster) (listener *os.File, err error) {
	unix.CloseOnExec(listenerFD)
	return os.NewFile(listenerFD, "listener"), isolateMounts(cluster)
}

func reexec(arguments ...string) *exec.Cmd {
	command := exec.Command(self, arguments...)
	command.Args[0] = "cluster"
	return command
}
