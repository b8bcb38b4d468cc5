package apply

import (
	"fmt"
	"strings"
)

// leaving tells why an object has to be waited for. Finalizers are named: whoever they belong to may be
// slow, or gone, and then somebody has to know.
func leaving(change Change) string {
	name := change.Intent.Kind.Name + " " + change.Intent.Name
	finalizers := change.Live.GetFinalizers()
	switch {
	case change.Live.GetDeletionTimestamp() == nil:
		return name + " belongs to an earlier NginxOperator of the name: it is made anew when garbage collection has removed it"
	case len(finalizers) > 0:
		return fmt.Sprintf("%s is being deleted, and made anew when it is gone: it waits for its finalizers %s", name, strings.Join(finalizers, ", "))
	}
	return name + " is being deleted, and made anew when it is gone"
}
