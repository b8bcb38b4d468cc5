// Package subject runs the operator under test, which can be any program that takes a kubeconfig.
package subject

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Program is an operator with its arguments.
type Program struct {
	// Path is the path of the binary.
	Path string
	// Args are its arguments. {namespace} stands for the namespace that the operator manages. If it
	// manages all namespaces, arguments with {namespace} are omitted.
	Args []string
}

// Process is a running operator.
type Process struct {
	command *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}

	mu     sync.Mutex
	killed bool
}

// Start starts the operator with the API server at url. It appends the operator's output to the
// file log.
func (p *Program) Start(url, namespace, kubeconfig, log string) (*Process, error) {
	if err := writeKubeconfig(kubeconfig, url); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, arg := range p.Args {
		if namespace == "" && strings.Contains(arg, "{namespace}") {
			continue
		}
		args = append(args, strings.ReplaceAll(arg, "{namespace}", namespace))
	}
	process := &Process{command: exec.Command(p.Path, args...), ended: make(chan struct{})}
	// The proxy expects separate lists and watches. It would not recognize a watch that begins with
	// a list.
	process.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBE_FEATURE_WatchListClient=false")
	process.command.Stdout, process.command.Stderr = out, out
	// Kill it when this program ends for any reason.
	process.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = process.command.Start()
	// The process has its own descriptor of the log.
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		defer close(process.ended)
		_ = process.command.Wait() // Died reports an unexpected end
	}()
	return process, nil
}

// Kill kills the process, and returns when it has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	_ = p.command.Process.Kill() // it may have ended already
	<-p.ended
}

// Running reports whether the process is still running.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Died reports whether the process ended without Kill.
func (p *Process) Died() bool {
	select {
	case <-p.ended:
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.killed
	default:
		return false
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

func writeKubeconfig(path, url string) error {
	const name = "fault"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: url}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return clientcmd.WriteToFile(*kubeconfig, path)
}
