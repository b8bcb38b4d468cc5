package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/plugin/view"
)

// Tree shows each object below its owner. An object without an owner among them is below the root.
func (p Printer) Tree(t *view.Tree) error {
	table := p.table("OBJECT", "HEALTH", "AGE")
	known := map[types.UID]bool{}
	for i := range t.Objects {
		known[t.Objects[i].GetUID()] = true
	}
	below := map[types.UID][]*unstructured.Unstructured{}
	for i := range t.Objects {
		object := &t.Objects[i]
		owner := t.Root.GetUID()
		for _, o := range object.GetOwnerReferences() {
			if known[o.UID] {
				owner = o.UID
			}
		}
		below[owner] = append(below[owner], object)
	}
	p.show(table, &t.Root, below, "", "")
	if err := table.print(); err != nil {
		return err
	}
	return p.forbidden(t.Forbidden)
}

// show adds an object and those below it. lead is what precedes its name, and indent what precedes those below it.
func (p Printer) show(t *table, object *unstructured.Unstructured, below map[types.UID][]*unstructured.Unstructured, lead, indent string) {
	t.row(lead+object.GetKind()+"/"+object.GetName(), health(object), p.age(object.GetCreationTimestamp().Time))
	children := below[object.GetUID()]
	delete(below, object.GetUID()) // Owners that form a circle end here.
	slices.SortFunc(children, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	for i, child := range children {
		if i == len(children)-1 {
			p.show(t, child, below, indent+"└─", indent+"  ")
		} else {
			p.show(t, child, below, indent+"├─", indent+"│ ")
		}
	}
}

// health returns whether an object does what it is there for, as far as its status says so.
func health(object *unstructured.Unstructured) string {
	if object.GetDeletionTimestamp() != nil {
		return "being deleted"
	}
	if wanted, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas"); found && err == nil {
		ready, _, _ := unstructured.NestedInt64(object.Object, "status", "readyReplicas")
		return fmt.Sprintf("%d/%d ready", ready, wanted)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != "Ready" {
			continue
		}
		reason, _ := condition["reason"].(string)
		switch condition["status"] {
		case "True":
			return "ready"
		case "False":
			return strings.TrimSuffix("not ready: "+reason, ": ")
		}
	}
	return ""
}
