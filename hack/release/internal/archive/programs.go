package archive

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the programs in the operator's image.
var programs = []string{"nginx-operator", "nginx-instance", "nginx-backup"}

// program returns the path of a program that is built.
func (a *Archive) program(platform, name string) string {
	return filepath.Join(a.Programs, strings.ReplaceAll(platform, "/", "-"), executable(platform, name))
}

// executable returns the name of the file of a program on a platform.
func executable(platform, name string) string {
	if strings.HasPrefix(platform, "windows/") {
		return name + ".exe"
	}
	return name
}

// build builds the programs for every platform that they are for.
func (a *Archive) build(ctx context.Context) error {
	for _, platform := range a.Release.Platforms {
		if err := a.compile(ctx, platform, programs); err != nil {
			return err
		}
	}
	for _, platform := range a.Release.PluginPlatforms {
		if err := a.compile(ctx, platform, []string{plugin}); err != nil {
			return err
		}
	}
	return nil
}

// compile builds programs for a platform.
func (a *Archive) compile(ctx context.Context, platform string, names []string) error {
	system, architecture, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("the platform %q is not of the form system/architecture", platform)
	}
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + a.Version + " -X example.com/nginx-operator/internal/plugin.releaseImage=" + a.Image(),
		"-o", filepath.Dir(a.program(platform, "any")) + "/"}
	for _, name := range names {
		arguments = append(arguments, "./cmd/"+name)
	}
	build := exec.CommandContext(ctx, "go", arguments...)
	build.Dir = a.Root
	// The level of the architecture affects the program, so set it; ignore the settings of the
	// build machine.
	build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "GOAMD64=v1", "GOARM64=v8.0",
		"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", platform, err, out)
	}
	return nil
}
