package instance

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/nginx-operator/internal/instanceapi"
)

// Install copies this program into a folder, atomically. The init container runs it, because nginx
// images do not contain this program.
func Install(dir string) error {
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = source.Close() }()
	target, err := os.CreateTemp(dir, "."+instanceapi.Program)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = os.Remove(target.Name()) }()
	if _, err := io.Copy(target, source); err != nil {
		_ = target.Close()
		return fmt.Errorf("install: %w", err)
	}
	if err := target.Chmod(0o755); err != nil {
		_ = target.Close()
		return fmt.Errorf("install: %w", err)
	}
	if err := target.Close(); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := os.Rename(target.Name(), filepath.Join(dir, instanceapi.Program)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return nil
}
