package apply

import (
	"fmt"
	"strings"
)

// awaitingDeletion says what an object waits for. It names the finalizers: their controllers may be slow, or gone,
// and then a person has to act.
func (s Settings) awaitingDeletion(change Change) string {
	name := change.Intent.Kind.Name + " " + change.Intent.Name
	finalizers := change.Live.GetFinalizers()
	switch {
	case change.Live.GetDeletionTimestamp() == nil:
		return name + " belongs to a deleted " + s.OwnerKind + " of the same name: it is recreated when garbage collection has deleted it"
	case len(finalizers) > 0:
		return fmt.Sprintf("%s is being deleted, and is recreated afterwards: its deletion waits for the finalizers %s", name, strings.Join(finalizers, ", "))
	}
	return name + " is being deleted, and is recreated afterwards"
}
