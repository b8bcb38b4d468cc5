package privilege

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/test/internal/audit"
)

// Refusals are the requests of an account that got a 403 response.
type Refusals struct {
	// Unauthorized are the requests without permission.
	Unauthorized []audit.Event
	// Admission are the requests with permission that a quota or a policy refused, because the user
	// requested more than is allowed.
	Admission []audit.Event
}

// Forbidden sorts the refused requests. It ignores creations in a namespace that is being deleted,
// which are always refused.
func Forbidden(requests []audit.Event) Refusals {
	var r Refusals
	for _, e := range requests {
		const forbidden = 403
		switch {
		case e.Response.Code != forbidden || e.Response.Refused(string(corev1.NamespaceTerminatingCause)):
		case unauthorized(e):
			r.Unauthorized = append(r.Unauthorized, e)
		default:
			r.Admission = append(r.Admission, e)
		}
	}
	return r
}

// unauthorized reports whether the authorizer, and not admission, refused a request. The audit log
// has the authorizer's decision only for the verb of the request itself. Additional checks of the
// API server, for example for a patch that creates an object, show only in the message.
func unauthorized(e audit.Event) bool {
	return e.Annotations["authorization.k8s.io/decision"] == "forbid" ||
		strings.Contains(e.Response.Message, fmt.Sprintf("User %q cannot ", e.User.Username))
}

// Messages lists the API server's messages, each once with its count.
func Messages(events []audit.Event) []string {
	counts := map[string]int{}
	for _, e := range events {
		counts[e.Response.Message]++
	}
	lines := slices.Sorted(maps.Keys(counts))
	for i, message := range lines {
		lines[i] = fmt.Sprintf("%d × %s", counts[message], message)
	}
	return lines
}
