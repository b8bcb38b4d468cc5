package node

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
	"example.com/nginx-operator/test/standin/kubelet"
)

// Images holds the file systems of containers.
type Images struct {
	// roots holds the root file systems of nginx, sorted by name. empty is that of an image without
	// nginx.
	roots []string
	empty string
	// programs is the directory of the instance manager.
	programs string
}

// Unpack unpacks the archives in a directory into root file systems, and copies the instance
// manager from its path. It puts everything into dir.
func Unpack(archives, instance, dir string) (*Images, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("real instances run in containers: it takes root to start them")
	}
	found, err := container.Images(archives, filepath.Join(dir, "images"))
	if err != nil {
		return nil, err
	}
	i := &Images{empty: filepath.Join(dir, "images", "empty"), programs: filepath.Join(dir, "programs")}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		i.roots = append(i.roots, found[name])
	}
	program, err := os.ReadFile(instance)
	if err != nil {
		return nil, fmt.Errorf("the instance manager (`make build` builds it): %w", err)
	}
	return i, errors.Join(container.Complete(i.empty), os.MkdirAll(i.programs, 0o755),
		os.WriteFile(filepath.Join(i.programs, instanceapi.Program), program, 0o755))
}

var number = regexp.MustCompile(`\d+$`)

// root returns the root file system of an image. The number at the end of the image's name selects
// one of the few nginx images. An image that crashes has no nginx.
func (i *Images) root(image string) string {
	if strings.Contains(image, kubelet.Crashes) {
		return i.empty
	}
	n, err := strconv.Atoi(number.FindString(image))
	if err != nil {
		n = 0
	}
	return i.roots[n%len(i.roots)]
}
