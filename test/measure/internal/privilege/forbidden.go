package privilege

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/test/internal/audit"
)

// Refusals are the requests of an account that were answered with 403.
type Refusals struct {
	// Unauthorized are those that the account has no right to.
	Unauthorized []audit.Event
	// Admission are those that it has the right to, refused by a quota or a policy: it
	// is the user who asked for more than is allowed there.
	Admission []audit.Event
}

// Forbidden sorts the refusals among requests. In a namespace that is being
// deleted, every creation is refused; those are left out.
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

// unauthorized tells a refusal by the authorizer from one by admission. The audit
// log has the authorizer's decision about the request's own verb; what the API
// server checks beyond that, such as the creation by a patch, only shows in the message.
func unauthorized(e audit.Event) bool {
	return e.Annotations["authorization.k8s.io/decision"] == "forbid" ||
		strings.Contains(e.Response.Message, fmt.Sprintf("User %q cannot ", e.User.Username))
}

// Messages lists what the API server said, each once.
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
