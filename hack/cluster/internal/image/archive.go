// Package image builds container images without a registry, an engine or a Dockerfile, as archives
// that `ctr images import` and `docker load` accept.
//
// The same files give the same archive, byte for byte: entries are sorted, and nothing records when
// or where the archive was built.
package image

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

// Write writes an archive of an image with a single layer (a tar, see Layer), under all of the
// tags.
func Write(path string, layer []byte, config v1.Config, tags ...string) error {
	image, err := assemble(layer, config)
	if err != nil {
		return err
	}
	images := map[name.Tag]v1.Image{}
	for _, tag := range tags {
		parsed, err := name.NewTag(tag, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("the tag %q: %w", tag, err)
		}
		images[parsed] = image
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return state.WriteFile(path, 0o644, func(w io.Writer) error { return tarball.MultiWrite(images, w) })
}

// assemble leaves the layer uncompressed. It never crosses a network, and compression would cost
// more than the saved disk space is worth.
func assemble(layer []byte, config v1.Config) (v1.Image, error) {
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(image, file)
}
