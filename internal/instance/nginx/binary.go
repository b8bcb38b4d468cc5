// Package nginx runs the nginx of the image: it asks for its version, tests
// configurations, and supervises the master process.
package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
}

// Find looks for nginx in PATH and where images without one there have it.
func Find(ctx context.Context, children *reap.Children) (Binary, error) {
	path, err := lookUp("nginx", "/usr/sbin/nginx", "/usr/local/nginx/sbin/nginx",
		"/usr/local/openresty/nginx/sbin/nginx", "/opt/bitnami/nginx/sbin/nginx")
	if err != nil {
		return Binary{}, errors.New("the image has no nginx in PATH, and none in the usual places")
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	var out bytes.Buffer
	command := exec.CommandContext(ctx, path, "-v")
	command.Stdout, command.Stderr = &out, &out
	if err := children.Start(command); err != nil {
		return Binary{}, fmt.Errorf("ask nginx for its version: %w", err)
	}
	if err := children.Wait(command); err != nil {
		return Binary{}, fmt.Errorf("ask nginx for its version: %w: %.200s", err, out.Bytes())
	}
	version, err := ParseVersion(out.String())
	return Binary{Path: path, Version: version, Children: children}, err
}

func lookUp(candidates ...string) (string, error) {
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

// arguments to use the configuration in a folder. The master uses the same path in
// every reload, so the folder is a symbolic link there.
func (b Binary) arguments(dir string) []string {
	arguments := []string{"-c", filepath.Join(dir, assemble.MainFile)}
	if b.Version.hasErrorLogFlag() {
		arguments = append(arguments, "-e", "stderr")
	}
	return arguments
}
