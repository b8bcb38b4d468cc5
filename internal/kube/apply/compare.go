package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/kube/owned"
)

// Action is what to do about one intent.
type Action string

// The actions.
const (
	// Leave: the live object is as it should be.
	Leave Action = "leave"
	// Create: there is no such object.
	Create Action = "create"
	// Update: the intent changed since it was applied.
	Update Action = "update"
	// Heal: the intent is the same, and another client changed a field of it.
	Heal Action = "heal"
	// Delete: the object should not exist any more, or has to be created again.
	Delete Action = "delete"
	// Conflict: the object is foreign.
	Conflict Action = "conflict"
	// Wait: the object is being deleted, and can be created again when it is gone.
	Wait Action = "wait"
	// Recreate: a field has to change that cannot, so the object has to be created again. What it owns stays.
	Recreate Action = "recreate"
	// Relabel: the object has lost the label by which the caches find it.
	Relabel Action = "relabel"
)

// Change is an action together with what it needs.
type Change struct {
	Intent owned.Intent
	Action Action
	// Hash of the intent.
	Hash string
	// Live is the object found; nil if there is none.
	Live owned.Object
	// DroppedFields are the paths of fields that differ from the intent, and did when they were written.
	DroppedFields []string
}

// Compare compares the intents with the live objects and returns the changes to make, in the order of the intents,
// Leave included. It is pure.
func (s Settings) Compare(owner metav1.Object, intents []owned.Intent, live map[owned.Key]owned.Object) ([]Change, error) {
	changes := make([]Change, 0, len(intents))
	for _, intent := range intents {
		change, err := s.compare(owner, intent, live[intent.Key()])
		if err != nil {
			return nil, fmt.Errorf("compare with the live objects: %w", err)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

func (s Settings) compare(owner metav1.Object, intent owned.Intent, live owned.Object) (Change, error) {
	change := Change{Intent: intent, Live: live, Action: Leave}
	if !intent.ShouldExist() {
		if live != nil && live.GetDeletionTimestamp() == nil && metav1.IsControlledBy(live, owner) {
			change.Action = Delete
		}
		return change, nil
	}
	hash, err := hashIntent(intent.Fields)
	if err != nil {
		return change, err
	}
	change.Hash = hash
	if live == nil {
		change.Action = Create
		return change, nil
	}
	err = s.compareLive(&change, owner)
	if err == nil && slices.Contains([]Action{Update, Heal}, change.Action) {
		err = change.recreateIfImmutable()
	}
	if isImmutableConfigMap(live) && slices.Contains([]Action{Leave, Update, Heal}, change.Action) {
		change.Action = Delete
	}
	return change, err
}

// isImmutableConfigMap reports whether another client made a ConfigMap immutable, which cannot be undone
// (https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable). It has to be created again at
// once, not only when it has to change: a kubelet that has read it reads no other of its name as long as a pod of its
// node refers to it.
func isImmutableConfigMap(live owned.Object) bool {
	cm, ok := live.(*corev1.ConfigMap)
	return ok && cm.Immutable != nil && *cm.Immutable
}

// recreateIfImmutable decides to create an object again if a field differs that the API server does not let change.
func (c *Change) recreateIfImmutable() error {
	if c.Intent.Kind.Recreate == nil {
		return nil
	}
	live, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.Live)
	if err != nil {
		return err
	}
	differing, err := driftedFields(c.Intent, live)
	if err != nil {
		return err
	}
	if c.Intent.Kind.Recreate(c.Intent.Fields, live, differing) {
		c.Action = Recreate
	}
	return nil
}

// compareLive decides what to do about a live object.
func (s Settings) compareLive(c *Change, owner metav1.Object) error {
	switch {
	case c.Live.GetDeletionTimestamp() != nil:
		c.Action = Wait
		return nil
	case !metav1.IsControlledBy(c.Live, owner):
		c.Action = s.conflictOrWait(c.Live, owner.GetName())
		return nil
	case c.Live.GetAnnotations()[s.HashAnnotation] != c.Hash:
		c.Action = Update
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.Live)
	if err != nil {
		return err
	}
	if c.DroppedFields, err = driftedFields(c.Intent, fields); err != nil {
		return err
	}
	known := s.droppedFields(c.Live, c.Hash)
	if slices.ContainsFunc(c.DroppedFields, func(path string) bool { return !slices.Contains(known, path) }) {
		c.Action = Heal
	}
	return nil
}

// conflictOrWait distinguishes a foreign object from one of an earlier owner of the same name, which garbage
// collection is about to remove.
func (s Settings) conflictOrWait(live metav1.Object, application string) Action {
	ref := metav1.GetControllerOf(live)
	if ref != nil && ref.Kind == s.OwnerKind && ref.Name == s.OwnerName && live.GetLabels()[s.OwnerLabel] == application {
		return Wait
	}
	return Conflict
}

// hashIntent returns the same hash for the same intent in every process: JSON of maps is sorted.
func hashIntent(fields map[string]any) (string, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
