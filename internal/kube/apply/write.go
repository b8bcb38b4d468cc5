package apply

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
)

// CreateOnly is never the resourceVersion of an object: etcd starts at revision 1 before anything is written.
const CreateOnly = "1"

func (a *Applier) delete(ctx context.Context, change Change, options ...client.DeleteOption) error {
	err := a.client.Delete(ctx, change.Live, append(options, client.Preconditions{
		UID:             new(change.Live.GetUID()),
		ResourceVersion: new(change.Live.GetResourceVersion()),
	})...)
	return client.IgnoreNotFound(err)
}

func (a *Applier) write(ctx context.Context, owner metav1.Object, change Change, outcome *Outcome) error {
	if change.Live == nil {
		change.Intent.Meta.WithResourceVersion(CreateOnly)
	} else {
		change.Intent.Meta.WithUID(change.Live.GetUID())
	}
	// The generation is no part of the intent: a change of it alone is not worth a write.
	annotations := map[string]string{
		a.settings.HashAnnotation:       change.Hash,
		a.settings.GenerationAnnotation: strconv.FormatInt(owner.GetGeneration(), 10),
	}
	if change.Live != nil && len(a.settings.droppedFields(change.Live, change.Hash)) > 0 {
		annotations[a.settings.DroppedAnnotation] = change.Live.GetAnnotations()[a.settings.DroppedAnnotation]
	}
	change.Intent.Meta.WithAnnotations(annotations)
	if change.Live != nil && change.Live.GetAnnotations()[a.settings.HashAnnotation] == replaced {
		change.Intent.Meta.WithAnnotations(map[string]string{a.settings.HashAnnotation: replaced})
	}
	written, err := a.applyVerified(ctx, owner.GetNamespace(), change.Intent)
	if apierrors.IsInvalid(err) && change.Live != nil {
		written, err = a.replaceUnmergeable(ctx, owner.GetNamespace(), change, err)
	}
	if err == nil && (a.settings.patched(written) || written.GetAnnotations()[a.settings.HashAnnotation] == replaced) {
		change.Intent.Meta.WithAnnotations(annotations)
		written, err = a.ownByApply(ctx, change.Intent, written)
	}
	if err == nil {
		outcome.applied(change, written)
		err = a.verifyWritten(ctx, change, written, annotations, outcome)
	}
	return err
}

// applyVerified applies an intent, if the API server keeps what the pods need.
func (a *Applier) applyVerified(ctx context.Context, namespace string, intent owned.Intent) (owned.Object, error) {
	if err := a.verifyImageVolumes(ctx, namespace, intent); err != nil {
		return nil, err
	}
	return a.applyIntent(ctx, namespace, intent)
}

// applyIntent applies an intent, and returns the object as the API server stored it.
func (a *Applier) applyIntent(ctx context.Context, namespace string, intent owned.Intent) (owned.Object, error) {
	object := emptyObject(namespace, intent)
	return object, a.ApplyConfiguration(ctx, object, intent.Config)
}

// emptyObject returns an object with only its name, for the answer to a patch: decoding keeps fields that the answer
// does not mention.
func emptyObject(namespace string, intent owned.Intent) owned.Object {
	object := intent.Kind.New()
	object.SetNamespace(namespace)
	object.SetName(intent.Name)
	return object
}

// ApplyConfiguration applies a configuration, and fills an object, which has its name, with what the API server
// stored. It uses a patch for two reasons. The answer to an Apply is decoded into the configuration that was sent,
// which would keep fields that the API server left out. And the object has the type that is read, so that reads wait
// for the write (EnableReadYourWritesConsistency of client.CacheOptions): for an unstructured object, the client
// would create another cache.
func (a *Applier) ApplyConfiguration(ctx context.Context, object client.Object, config runtime.ApplyConfiguration, options ...client.PatchOption) error {
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	send := func(body []byte) error {
		return a.client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, body), append(options, client.FieldOwner(a.settings.FieldManager), client.ForceOwnership)...)
	}
	refused := send(body)
	if refused == nil {
		return nil
	}
	known, err := withoutUndeclared(body, refused)
	if known == nil || err != nil {
		return refused
	}
	// The answer lacks what is left out, so it is reported like any dropped field.
	return send(known)
}

// replaceUnmergeable restores in the live object what the intent could not be merged with, and marks the object. It
// returns invalid if that is not why the API server refused.
func (a *Applier) replaceUnmergeable(ctx context.Context, namespace string, change Change, invalid error) (owned.Object, error) {
	patch, err := a.settings.replacements(change.Intent, change.Live)
	if err != nil {
		return nil, err
	}
	if patch == nil {
		return nil, invalid
	}
	return a.patch(ctx, namespace, change.Intent, client.RawPatch(types.JSONPatchType, patch))
}

// patch writes what cannot be applied, and returns the object as the API server stored it.
func (a *Applier) patch(ctx context.Context, namespace string, intent owned.Intent, patch client.Patch) (owned.Object, error) {
	object := emptyObject(namespace, intent)
	return object, a.client.Patch(ctx, object, patch, client.FieldOwner(a.settings.FieldManager))
}

// patched reports whether the operator owns fields of an object by patches.
func (s Settings) patched(object owned.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == s.FieldManager && entry.Operation == metav1.ManagedFieldsOperationUpdate
	})
}

// ownByApply makes the operator own patched fields by apply only, and then applies. Otherwise it would own them in
// two ways, and patched fields would stay when they are no longer applied. Only the object that was applied last has
// the hash of the intent. Until then the mark also tells a later process, whose cache does not show who owns which
// fields.
func (a *Applier) ownByApply(ctx context.Context, intent owned.Intent, written owned.Object) (owned.Object, error) {
	if a.settings.patched(written) {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(written, sets.New(a.settings.FieldManager), a.settings.FieldManager)
		if err != nil {
			return nil, err
		}
		if _, err := a.patch(ctx, written.GetNamespace(), intent, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return nil, err
		}
	}
	return a.applyIntent(ctx, written.GetNamespace(), intent)
}
