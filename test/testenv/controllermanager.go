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

// ErrNoControllerManager means that KUBEBUILDER_ASSETS has no kube-controller-manager. The assets
// of the local cluster have it, but not those of every release of envtest.
var ErrNoControllerManager = errors.New("KUBEBUILDER_ASSETS has no kube-controller-manager")

// ControllerManager is a running kube-controller-manager.
type ControllerManager struct {
	command *exec.Cmd
	// Log is the path of the process's log.
	Log string
}

// StartControllerManager starts a kube-controller-manager that runs only the given controllers.
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
		// The default period of the autoscaler is too long for a test.
		"--horizontal-pod-autoscaler-sync-period=2s",
		// Only the API server's priority and fairness limits the requests, not the client.
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	m.command.Stdout, m.command.Stderr = out, out
	// The process dies with this program, however that ends.
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = m.command.Start()
	// The process has its own descriptor for the log.
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("start kube-controller-manager: %w", err)
	}
	return m, nil
}

// Stop kills the process. It has no state to clean up.
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
