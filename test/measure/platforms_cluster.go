package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// localCluster is the cluster of hack/cluster, which the measurement starts and stops.
type localCluster struct {
	program  string
	progress func(format string, values ...any)
	// kubeconfig and kubectl are set by up.
	kubeconfig, kubectl string
}

// run runs a program in the repository and returns its output. It hides the settings of the make target that runs the
// measurement.
func (c *localCluster) run(ctx context.Context, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = testenv.Root()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); name != "MAKEFLAGS" && name != "MFLAGS" && name != "MAKELEVEL" && name != "KUBECONFIG" {
			command.Env = append(command.Env, variable)
		}
	}
	if c.kubeconfig != "" {
		command.Env = append(command.Env, "KUBECONFIG="+c.kubeconfig)
	}
	printed, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(arguments, " "), err, printed)
	}
	return string(printed), err
}

// checkStopped returns an error if a cluster runs already: the measurement would remove it.
func (c *localCluster) checkStopped(ctx context.Context) error {
	if _, err := c.run(ctx, c.program, "status"); err == nil {
		return fmt.Errorf("the local cluster runs: stop it first (make down)")
	}
	return nil
}

// up starts the cluster with address families.
func (c *localCluster) up(ctx context.Context, families string) error {
	if _, err := c.run(ctx, c.program, "up", "--ip-family", families); err != nil {
		return err
	}
	kubeconfig, err := exec.CommandContext(ctx, c.program, "kubeconfig").Output()
	if err != nil {
		return err
	}
	assets, err := exec.CommandContext(ctx, c.program, "envtest-assets").Output()
	c.kubeconfig = strings.TrimSpace(string(kubeconfig))
	c.kubectl = filepath.Join(strings.TrimSpace(string(assets)), "kubectl")
	return err
}

func (c *localCluster) down(ctx context.Context) error {
	_, err := c.run(context.WithoutCancel(ctx), c.program, "down")
	c.kubeconfig = ""
	return err
}

// on runs a shell command on a node, in its network.
func (c *localCluster) on(ctx context.Context, node, command string) (string, error) {
	return c.run(ctx, c.program, "exec", "--node", node, "--", "sh", "-c", command)
}

// apply applies a kustomization of test/platforms, with a field manager that the installation of the operator does not
// use.
func (c *localCluster) apply(ctx context.Context, kustomization string) error {
	_, err := c.run(ctx, c.kubectl, "apply", "--server-side", "--field-manager=platform", "-k", "test/platforms/"+kustomization)
	return err
}

// install installs the operator with images that are loaded into the nodes.
func (c *localCluster) install(ctx context.Context) error {
	_, err := c.run(ctx, "make", "deploy")
	return err
}

// The images in the registry of the local cluster, as test/platforms/registry uses them.
const (
	registryOperator = "nginx-operator:dev"
	registryNginx    = "nginx:1.30.6"
	registry         = "registry.test:5000/"
)

// useRegistry pushes the images to a registry with a password, and removes them from the nodes.
func (c *localCluster) useRegistry(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"addon", "registry"},
		{"push", "bin/nginx-operator.tar", registryOperator},
		{"push", "bin/images/nginx-forky.tar", registryNginx},
	} {
		if _, err := c.run(ctx, c.program, arguments...); err != nil {
			return err
		}
	}
	for _, node := range []string{"1", "2"} {
		const remove = "images='ctr --namespace=k8s.io images'; $images ls -q | grep localhost/nginx | xargs --no-run-if-empty $images rm"
		if _, err := c.on(ctx, node, remove); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, c.kubectl, "create", "namespace", process.Account.Namespace); err != nil {
		return err
	}
	return c.pullSecret(ctx, process.Account.Namespace)
}

// pullSecret creates the Secret for the registry in a namespace.
func (c *localCluster) pullSecret(ctx context.Context, namespace string) error {
	_, err := c.run(ctx, c.kubectl, "--namespace", namespace, "create", "secret", "docker-registry", "registry",
		"--docker-server", strings.TrimSuffix(registry, "/"), "--docker-username=registry", "--docker-password=registry-password")
	return err
}

// installFromRegistry installs the operator with an image that the nodes have to pull.
func (c *localCluster) installFromRegistry(ctx context.Context) error {
	_, err := c.run(ctx, "hack/quickstart/deploy.sh", c.kubectl, "test/platforms/registry", registry+registryOperator)
	return err
}
