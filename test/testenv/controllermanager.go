package testenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNoControllerManager tells that KUBEBUILDER_ASSETS has no kube-controller-manager. It
// is in those of the local cluster, and not in those of every release of envtest.
var ErrNoControllerManager = errors.New("KUBEBUILDER_ASSETS has no kube-controller-manager")

// ControllerManager is a running kube-controller-manager.
type ControllerManager struct {
	command *exec.Cmd
	// Log is the path of its log.
	Log string
}

// StartControllerManager starts a kube-controller-manager with these controllers alone.
func (cp *ControlPlane) StartControllerManager(dir string, controllers ...string) (*ControllerManager, error) {
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoControllerManager
	}
	m := &ControllerManager{Log: filepath.Join(dir, "kube-controller-manager.log")}
	out, err := os.Create(m.Log)
	if err != nil {
		return nil, err
	}
	m.command = exec.Command(program,
		"--kubeconfig="+cp.Kubeconfig, "--controllers="+strings.Join(controllers, ","), "--leader-elect=false", "--secure-port=0",
		// Nobody wants to wait for an autoscaler.
		"--horizontal-pod-autoscaler-sync-period=2s",
		// The API server's own fairness is the limit, not a counter in the client.
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	m.command.Stdout, m.command.Stderr = out, out
	// It ends with this program, however that ends.
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = m.command.Start()
	// The process has its own descriptor of the log.
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("start kube-controller-manager: %w", err)
	}
	return m, nil
}

// Stop ends the process. It keeps nothing that has to be tidied up.
func (m *ControllerManager) Stop() error {
	err := m.command.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	var killed *exec.ExitError
	if waited := m.command.Wait(); !errors.As(waited, &killed) {
		err = errors.Join(err, waited)
	}
	return err
}
