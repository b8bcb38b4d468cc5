// Package nginx runs the nginx of the image: it gets its version, tests configurations, and
// supervises the master process.
package nginx

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/reap"
)

const versionTimeout = 10 * time.Second

// Binary is the nginx of the image.
type Binary struct {
	Path    string
	Version Version
	Build   Build
	// KeepaliveMinTimeout reports whether nginx can keep idle connections open during a graceful exit.
	KeepaliveMinTimeout bool
	Children            *reap.Children
	// CanDryRun reports whether a second nginx can be started next to the serving one.
	CanDryRun bool
	// Hidden are paths below which nginx and its children cannot open files.
	Hidden []string
	// Guarded reports whether nginx loads code from read-only places only; see package codeguard.
	Guarded bool
}

// Find looks for nginx or a fork of it in PATH, and in the usual places of images that do not have it in PATH.
func Find(ctx context.Context, children *reap.Children) (Binary, error) {
	path, err := findProgram(os.Getenv("PATH"), folders)
	if err != nil {
		return Binary{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	// A sandbox without system call filters fails here, and then a dry run would fail too.
	limited, err := Binary{Path: path}.command(launch{IgnoreBind: true}, "-V")
	if err != nil {
		return Binary{}, err
	}
	canDryRun := true
	text, err := output(ctx, children, limited)
	if err != nil {
		slog.Warn("configurations are tested without starting worker processes", "reason", fmt.Sprintf("%v: %.200s", err, text))
		canDryRun = false
		text, err = output(ctx, children, []string{path, "-V"})
	}
	if err != nil {
		return Binary{}, cannotRun(path, err, text)
	}
	build, err := ParseBuild(text)
	if err != nil {
		return Binary{}, fmt.Errorf("%s is neither nginx nor a fork of it: -V shows %.100q; use an image of nginx", path, text)
	}
	// Forks do not have all directives of the nginx that they are based on: Angie and freenginx lack this one.
	minTimeout := build.Version.atLeast(keepaliveMinTimeout) && hasDirective(path, "keepalive_min_timeout")
	return Binary{
		Path: path, Version: build.Version, Build: build, KeepaliveMinTimeout: minTimeout, Children: children, CanDryRun: canDryRun,
	}, nil
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

// arguments returns the arguments to use the configuration in a folder. A master process uses the
// same path for every reload, so its folder is a symbolic link.
func (b Binary) arguments(dir string) []string {
	arguments := []string{"-c", filepath.Join(dir, assemble.MainFile)}
	if b.Version.hasErrorLogFlag() {
		arguments = append(arguments, "-e", "stderr")
	}
	return arguments
}
