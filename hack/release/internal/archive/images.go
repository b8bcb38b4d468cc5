package archive

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"example.com/nginx-operator/hack/release/internal/bundle"
	"example.com/nginx-operator/hack/release/internal/project"
)

// images packs the images as OCI archives, which `ctr images import`, `skopeo copy` and `podman
// load` accept.
func (a *Archive) images(context.Context) error {
	operator, err := a.operatorIndex()
	if err != nil {
		return err
	}
	if err := a.packOCILayout(a.named(".oci.tar"), operator, a.Image()); err != nil {
		return err
	}
	content, err := a.bundleTree()
	if err != nil {
		return err
	}
	labels := bundle.Annotations(a.Project)
	maps.Copy(labels, a.labels("The bundle of nginx-operator for the Operator Lifecycle Manager"))
	image, err := a.image(content, "linux/amd64", v1.Config{Labels: labels})
	if err != nil {
		return err
	}
	return a.packOCILayout(project.Name+"-bundle-"+a.Version+".oci.tar", image, a.Release.Image+"-bundle:"+a.Version)
}

// operatorIndex returns an index with an image for every platform.
func (a *Archive) operatorIndex() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range a.Release.Platforms {
		content := tree{}
		for _, name := range programs {
			program, err := os.ReadFile(a.program(platform, name))
			if err != nil {
				return nil, err
			}
			content.add(name, 0o755, program)
		}
		image, err := a.image(content, platform, v1.Config{
			Entrypoint: []string{"/" + project.Name}, User: "65532:65532", WorkingDir: "/",
			Labels: a.labels("Runs nginx applications on Kubernetes"),
		})
		if err != nil {
			return nil, err
		}
		system, architecture, _ := strings.Cut(platform, "/")
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}},
		})
	}
	return index, nil
}

// labels returns the labels of an image, see
// https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func (a *Archive) labels(description string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": project.Name, prefix + "description": description, prefix + "version": a.Version,
		prefix + "revision": a.Revision, prefix + "licenses": "Apache-2.0", prefix + "created": a.Date.Format(time.RFC3339),
	}
}

// image returns an image with a single layer.
func (a *Archive) image(content tree, platform string, config v1.Config) (v1.Image, error) {
	packed, err := content.tar(a.Date)
	if err != nil {
		return nil, err
	}
	compressed, err := gzipped(packed)
	if err != nil {
		return nil, err
	}
	layer, err := newLayer(packed, compressed)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: a.Date}, CreatedBy: "release"}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, _ = strings.Cut(platform, "/")
	file.Created, file.Config = v1.Time{Time: a.Date}, config
	return mutate.ConfigFile(image, file)
}

// layer is a compressed layer. Its identity is that of the tar in it.
type layer struct {
	v1.Layer
	diffID v1.Hash
}

func (l layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

func newLayer(packed, compressed []byte) (v1.Layer, error) {
	diffID, err := static.NewLayer(packed, types.OCIUncompressedLayer).Digest()
	return layer{static.NewLayer(compressed, types.OCILayer), diffID}, err
}

// packOCILayout packs an image, or an index of images, as an archive in the OCI image layout, under a name.
func (a *Archive) packOCILayout(file string, image mutate.Appendable, name string) error {
	dir, err := os.MkdirTemp(a.Programs, "layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := appendToLayout(path, image, name); err != nil {
		return err
	}
	content := tree{}
	err = filepath.WalkDir(dir, func(path string, item os.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		bytes, err := os.ReadFile(path)
		content.add(filepath.ToSlash(relative), 0o644, bytes)
		return err
	})
	if err != nil {
		return err
	}
	a.files[file], err = content.tar(a.Date)
	return err
}

func appendToLayout(path layout.Path, image mutate.Appendable, name string) error {
	_, tag, _ := strings.Cut(name, ":")
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": name,
	})
	switch image := image.(type) {
	case v1.ImageIndex:
		return path.AppendIndex(image, named)
	case v1.Image:
		return path.AppendImage(image, named)
	default:
		return fmt.Errorf("%s is a %T, not an image", name, image)
	}
}
