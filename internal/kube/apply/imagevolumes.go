package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
)

// errImageDropped means that the API server would store an object without a volume that is an image: its files would be
// missing.
var errImageDropped = errors.New("the API server does not keep images as volumes")

var volumesPath = []string{"spec", "template", "spec", "volumes"}

// verifyImageVolumes returns errImageDropped if the API server drops the images of an intent's volumes, as it does while its
// feature gate ImageVolume is off. A dry run shows it, until one has shown that it keeps them.
func (a *Applier) verifyImageVolumes(ctx context.Context, namespace string, intent owned.Intent) error {
	if a.keepsImages.Load() || !hasImageVolume(intent.Fields) {
		return nil
	}
	object := emptyObject(namespace, intent)
	if err := a.ApplyConfiguration(ctx, object, intent.Config, client.DryRunAll, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	fields, err := fieldsOf(object)
	if err != nil {
		return err
	}
	paths, err := missingFields(intent, fields)
	if err != nil {
		return err
	}
	if dropped := slices.DeleteFunc(paths, func(path string) bool { return !isVolumeImage(path) }); len(dropped) > 0 {
		return fmt.Errorf("%w (%s): enable its feature gate ImageVolume, or provide the files in another way", errImageDropped, strings.Join(dropped, ", "))
	}
	a.keepsImages.Store(true)
	return nil
}

// isVolumeImage reports whether a path is that of a volume, or of its image.
func isVolumeImage(path string) bool {
	rest, ok := strings.CutPrefix(path, strings.Join(volumesPath, ".")+"[")
	_, field, _ := strings.Cut(rest, "]")
	return ok && (field == "" || strings.HasPrefix(field, ".image"))
}

func hasImageVolume(fields map[string]any) bool {
	volumes, _, _ := unstructured.NestedFieldNoCopy(fields, volumesPath...)
	items, _ := volumes.([]any)
	return slices.ContainsFunc(items, func(item any) bool {
		volume, _ := item.(map[string]any)
		return volume["image"] != nil
	})
}
