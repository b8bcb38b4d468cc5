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

func (a *Archive) program(platform, name string) string {
	return filepath.Join(a.Programs, strings.ReplaceAll(platform, "/", "-"), name)
}

// build builds the programs for every platform.
func (a *Archive) build(ctx context.Context) error {
	for _, platform := range a.Release.Platforms {
		system, architecture, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("the platform %q is not of the form system/architecture", platform)
		}
		arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + a.Version,
			"-o", filepath.Dir(a.program(platform, "any")) + "/"}
		for _, name := range programs {
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
	}
	return nil
}
