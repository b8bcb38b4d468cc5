package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// Action is what has to be done about one intent.
type Action string

// The actions.
const (
	// Leave: the live object is as it should be.
	Leave Action = "leave"
	// Create: there is no such object.
	Create Action = "create"
	// Update: the intent changed since it was applied.
	Update Action = "update"
	// Heal: the intent is the same, and somebody changed a field of it.
	Heal Action = "heal"
	// Delete: the object should not exist any more, or has to be made anew.
	Delete Action = "delete"
	// Conflict: the object belongs to somebody else.
	Conflict Action = "conflict"
	// Wait: the object is on its way out, it can be made again when it is gone.
	Wait Action = "wait"
)

// Change is an action together with what it needs.
type Change struct {
	Intent desired.Intent
	Action Action
	// Hash of the intent.
	Hash string
	// Live is the object found, nil when there is none.
	Live observe.Object
	// NotKept are the paths of fields that are not as the intent has them, and were not when they were written.
	NotKept []string
}

// Decide is pure: it compares every intent with the live object and returns what
// would have to be done, in the order of the plan, Leave included.
func Decide(nginx *v1alpha2.NginxOperator, plan *desired.Plan, state observe.State) ([]Change, error) {
	changes := make([]Change, 0, len(plan.Intents))
	for _, intent := range plan.Intents {
		change, err := decide(nginx, intent, state.Owned[observe.Key{Kind: intent.Kind.Name, Name: intent.Name}])
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

func decide(nginx *v1alpha2.NginxOperator, intent desired.Intent, live observe.Object) (Change, error) {
	change := Change{Intent: intent, Live: live, Action: Leave}
	if !intent.ShouldExist() {
		if live != nil && live.GetDeletionTimestamp() == nil && desired.IsControlledBy(live, nginx) {
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
	err = change.compare(nginx)
	if frozen(live) && slices.Contains([]Action{Leave, Update, Heal}, change.Action) {
		change.Action = Delete
	}
	return change, err
}

// frozen tells whether somebody has made a ConfigMap immutable, for good
// (https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable). It has to be made anew, and
// at once, not when it has to change: a kubelet that has read it meanwhile looks at no other one of its name, as long
// as a pod of its node refers to it.
func frozen(live observe.Object) bool {
	cm, ok := live.(*corev1.ConfigMap)
	return ok && cm.Immutable != nil && *cm.Immutable
}

// compare finds out what has to be done about a live object.
func (c *Change) compare(nginx *v1alpha2.NginxOperator) error {
	switch {
	case c.Live.GetDeletionTimestamp() != nil:
		c.Action = Wait
		return nil
	case !desired.IsControlledBy(c.Live, nginx):
		c.Action = conflictOrWait(c.Live)
		return nil
	case c.Live.GetAnnotations()[naming.AnnotationIntent] != c.Hash:
		c.Action = Update
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.Live)
	if err != nil {
		return err
	}
	if c.NotKept, err = differing(c.Intent, fields); err != nil {
		return err
	}
	known := notKept(c.Live, c.Hash)
	if slices.ContainsFunc(c.NotKept, func(path string) bool { return !slices.Contains(known, path) }) {
		c.Action = Heal
	}
	return nil
}

// conflictOrWait tells an object of somebody else from one of an earlier
// NginxOperator of the same name, which garbage collection is about to remove.
func conflictOrWait(live observe.Object) Action {
	ref := metav1.GetControllerOf(live)
	if ref != nil && ref.Kind == v1alpha2.Kind && live.GetLabels()[naming.LabelApplication] == ref.Name {
		return Wait
	}
	return Conflict
}

// hashIntent is the same for the same intent, whatever process computes it: JSON
// of maps is sorted.
func hashIntent(fields map[string]any) (string, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
