// Package nginx runs the nginx of the image: it gets its version, tests configurations, and
// supervises the master process.
package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/reap"
)

const versionTimeout = 10 * time.Second

// Binary is the nginx of the image.
type Binary struct {
	Path     string
	Version  Version
	Children *reap.Children
	// CanDryRun reports whether a second nginx can be started next to the serving one.
	CanDryRun bool
	// Hidden are paths below which nginx and its children cannot open files.
	Hidden []string
}

// Find looks for nginx in PATH, and in the usual places of images that do not have it in PATH.
func Find(ctx context.Context, children *reap.Children) (Binary, error) {
	path, err := findProgram("nginx", "/usr/sbin/nginx", "/usr/local/nginx/sbin/nginx",
		"/usr/local/openresty/nginx/sbin/nginx", "/opt/bitnami/nginx/sbin/nginx")
	if err != nil {
		return Binary{}, errors.New("the image has no nginx in PATH, and none in the usual places")
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	// A sandbox without system call filters fails here, and then a dry run would fail too.
	limited, err := Binary{Path: path}.command(launch{IgnoreBind: true}, "-v")
	if err != nil {
		return Binary{}, err
	}
	canDryRun := true
	text, err := output(ctx, children, limited)
	if err != nil {
		slog.Warn("configurations are tested without starting worker processes", "reason", fmt.Sprintf("%v: %.200s", err, text))
		canDryRun = false
		text, err = output(ctx, children, []string{path, "-v"})
	}
	if err != nil {
		return Binary{}, fmt.Errorf("get the version of nginx: %w: %.200s", err, text)
	}
	version, err := ParseVersion(text)
	return Binary{Path: path, Version: version, Children: children, CanDryRun: canDryRun}, err
}

// output returns what a program writes to stdout and stderr.
func output(ctx context.Context, children *reap.Children, arguments []string) (string, error) {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	command.Stdout, command.Stderr = &out, &out
	err := children.Start(command)
	if err == nil {
		err = children.Wait(command)
	}
	return out.String(), err
}

func findProgram(candidates ...string) (string, error) {
	var missing error
	for _, candidate := range candidates {
		path, err := exec.LookPath(candidate)
		if err == nil {
			return path, nil
		}
		missing = err
	}
	return "", missing
}

// arguments returns the arguments to use the configuration in a folder. A master process uses the
// same path for every reload, so its folder is a symbolic link.
func (b Binary) arguments(dir string) []string {
	arguments := []string{"-c", filepath.Join(dir, assemble.MainFile)}
	if b.Version.hasErrorLogFlag() {
		arguments = append(arguments, "-e", "stderr")
	}
	return arguments
}
