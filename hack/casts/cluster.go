package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// namespace is the one of all recordings, because they show it.
const namespace = "casts"

// cluster is a namespace of a cluster, and a folder in which commands run.
type cluster struct {
	folder string
}

// newCluster creates the namespace with manifests.
func newCluster(manifests string) (_ *cluster, err error) {
	folder, err := os.MkdirTemp("", "casts-")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder}
	config, err := exec.Command("kubectl", "config", "view", "--raw", "--flatten", "--minify").Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kubectl config view: %w: set KUBECONFIG to the cluster's", err), os.RemoveAll(folder))
	}
	if err := os.WriteFile(filepath.Join(folder, "kubeconfig"), config, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if err := c.kubectl("", "create", "namespace", namespace); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: if an earlier run left it, delete it", err), os.RemoveAll(folder))
	}
	if err := c.prepare(manifests); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) prepare(manifests string) error {
	for _, arguments := range [][]string{
		{"config", "set-context", "--current", "--namespace=" + namespace},
		{"apply", "--server-side", "-f", "-"},
		{"wait", "nginx", "--all", "--for=condition=Ready", "--timeout=3m"},
	} {
		if err := c.kubectl(manifests, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// environment is that of commands in the namespace.
func (c *cluster) environment() []string {
	return append(os.Environ(), "KUBECONFIG="+filepath.Join(c.folder, "kubeconfig"), "PWD="+c.folder)
}

// kubectl runs kubectl out of sight.
func (c *cluster) kubectl(input string, arguments ...string) error {
	command := exec.Command("kubectl", arguments...)
	command.Env, command.Dir = c.environment(), c.folder
	command.Stdin = strings.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// write writes a file into the folder.
func (c *cluster) write(name, text string) error {
	return os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600)
}

// close deletes the namespace and the folder.
func (c *cluster) close() error {
	return errors.Join(c.kubectl("", "delete", "namespace", namespace, "--ignore-not-found"), os.RemoveAll(c.folder))
}
