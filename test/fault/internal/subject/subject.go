// Package subject runs the operator that is under test: any program that takes a kubeconfig.
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

// Program is an operator, and how it is started.
type Program struct {
	// Path of the binary.
	Path string
	// Args are its arguments. {namespace} stands for the one namespace that it looks after; an
	// argument with it is left out where it looks after all.
	Args []string
}

// Process is a running operator.
type Process struct {
	command *exec.Cmd
	// ended is closed when it has ended.
	ended chan struct{}

	mu     sync.Mutex
	killed bool
}

// Start starts the operator with the API server at a URL. What it says is added to the file log.
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
	// Lists and watches are told apart by the proxy; initial events of a watch are a list to it.
	process.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBE_FEATURE_WatchListClient=false")
	process.command.Stdout, process.command.Stderr = out, out
	// It ends with this program, however that ends.
	process.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = process.command.Start()
	// The process has its own descriptor of the log.
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		defer close(process.ended)
		_ = process.command.Wait() // Died tells of an end that nobody asked for
	}()
	return process, nil
}

// Kill ends it at once, and returns when it has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	_ = p.command.Process.Kill() // it has ended before
	<-p.ended
}

// Running tells whether it has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Died tells whether it has ended by itself.
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

// PID is its process's number.
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
