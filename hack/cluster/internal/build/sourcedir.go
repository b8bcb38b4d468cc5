package build

import (
	"fmt"
	"os"
	"path/filepath"
)

// FindSource finds hack/cluster in the parents of the tool's own file or of the working directory.
// The components are read from there, since they are separate modules and go:embed cannot read
// other modules.
func FindSource() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for _, start := range []string{filepath.Dir(executable), working} {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "hack", "cluster")} {
				if _, err := os.Stat(filepath.Join(candidate, "components", Kubernetes, "go.mod")); err == nil {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("the components' sources are neither above %s nor above %s: run the tool inside the repository",
		executable, working)
}
