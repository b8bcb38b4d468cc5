package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/addon"
	"example.com/nginx-operator/hack/cluster/internal/image"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/supervisor"
)

func newAddonCommand() *cobra.Command {
	var names []string
	for _, optional := range addon.Optionals() {
		names = append(names, optional.Component.Name)
	}
	return &cobra.Command{
		Use:   "addon NAME...",
		Short: "Add optional parts to the running cluster, building what is missing: " + strings.Join(names, ", "),
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, names []string) error {
			var optionals []addon.Optional
			for _, name := range names {
				optional, err := addon.FindOptional(name)
				if err != nil {
					return err
				}
				optionals = append(optionals, optional)
			}
			progress := newProgress(command)
			return withCluster(progress, func(cache state.Cache) error {
				for _, optional := range optionals {
					if err := addOptional(command.Context(), cache, optional, progress); err != nil {
						return fmt.Errorf("adding %s: %w", optional.Component.Name, err)
					}
				}
				return nil
			})
		},
	}
}

// addOptional adds an optional part and waits until it can be used. Doing so again changes nothing.
func addOptional(ctx context.Context, cache state.Cache, optional addon.Optional, progress *log.Logger) error {
	found, err := findReady(cache)
	if err != nil {
		return err
	}
	name := optional.Component.Name
	programs, err := buildComponents(ctx, cache, progress, optional.Component)
	if err != nil {
		return err
	}
	start := time.Now()
	archive := filepath.Join(cache.Images(), name+".tar")
	binary := image.Binary{
		Tag: optional.Image(), Entrypoint: "/" + name, User: "65532",
		Files: []string{filepath.Join(programs[name], name) + "=/" + name},
	}
	if err := binary.Write(archive); err != nil {
		return err
	}
	if err := found.load(ctx, archive); err != nil {
		return err
	}
	if err := found.apply(ctx, optional, programs[name]); err != nil {
		return err
	}
	progress.Printf("%s is ready after %s", name, time.Since(start).Round(100*time.Millisecond))
	return nil
}

// apply applies the definitions and then the objects of an optional part, and waits until it can be
// used.
func (r runningCluster) apply(ctx context.Context, optional addon.Optional, programs string) error {
	if err := r.applyDefinitions(ctx, optional.Definitions(programs)); err != nil {
		return err
	}
	manifests, err := optional.Manifests(addon.Parameters{
		Network: r.config.Network,
		ReadPKI: func(name string) ([]byte, error) { return os.ReadFile(r.cluster.PKI(name)) },
	})
	if err != nil {
		return err
	}
	if err := r.kubectl(ctx, bytes.NewReader(manifests), "apply", "--server-side", "--filename", "-"); err != nil {
		return err
	}
	for _, deployment := range optional.Deployments {
		namespace, name, _ := strings.Cut(deployment, "/")
		if err := r.kubectl(ctx, nil, "--namespace", namespace, "rollout", "status", "--timeout=2m", "deployment", name); err != nil {
			return err
		}
	}
	for _, wait := range optional.Waits {
		if err := r.kubectl(ctx, nil, append([]string{"wait", "--timeout=1m"}, wait...)...); err != nil {
			return err
		}
	}
	return nil
}

// applyDefinitions applies the files of a folder, if there is one, and waits until their kinds are
// served.
func (r runningCluster) applyDefinitions(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := r.kubectl(ctx, nil, "apply", "--server-side", "--recursive", "--filename", folder); err != nil {
		return err
	}
	return r.kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=1m", "customresourcedefinitions", "--all")
}

// kubectl runs kubectl on the machine, as administrator.
func (r runningCluster) kubectl(ctx context.Context, stdin io.Reader, arguments ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(r.config.Kubernetes, "kubectl"),
		append([]string{"--kubeconfig", r.cluster.Kubeconfig()}, arguments...)...)
	command.Stdin = stdin
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, bytes.TrimSpace(output))
	}
	return nil
}

// findReady returns the running cluster, or an error if there is none or if it is not ready.
func findReady(cache state.Cache) (runningCluster, error) {
	found, err := findRunning(cache)
	if err != nil {
		return runningCluster{}, err
	}
	if found.status.Phase != supervisor.Ready {
		return runningCluster{}, fmt.Errorf("the cluster is %s %s: run up", found.status.Phase, found.status.Message)
	}
	return found, nil
}
