package history

import (
	"fmt"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
)

// CauseOperator is the cause of a revision that no user requested: another release of the operator
// builds another template from the same declarations.
const CauseOperator = "the operator's own template"

// OfOperator reports whether the operator alone caused the revision.
func (r *Revision) OfOperator() bool { return strings.HasPrefix(r.Cause, CauseOperator) }

// Cause describes in one line what is new in a revision. beforeImage and beforeConfig are those of
// the revision before.
func Cause(before *Data, beforeImage, beforeConfig string, after *v1alpha2.NginxOperatorSpec, image, config string) string {
	if before == nil {
		return "first rollout"
	}
	var changes []string
	if beforeConfig == config && same(before.Spec, after) {
		changes = append(changes, CauseOperator)
	}
	if beforeImage != image {
		changes = append(changes, fmt.Sprintf("image %s → %s", beforeImage, image))
	}
	for _, part := range []struct {
		name string
		of   func(*v1alpha2.NginxOperatorSpec) any
	}{
		{"ports", func(s *v1alpha2.NginxOperatorSpec) any { return s.Ports }},
		{"forceRedeploy", func(s *v1alpha2.NginxOperatorSpec) any { return s.ForceRedeploy }},
		{"content", func(s *v1alpha2.NginxOperatorSpec) any { return s.Content }},
		{"tls", func(s *v1alpha2.NginxOperatorSpec) any { return s.TLS }},
		{"resources", func(s *v1alpha2.NginxOperatorSpec) any { return s.Resources }},
		{"podTemplate", func(s *v1alpha2.NginxOperatorSpec) any { return s.PodTemplate }},
		{"drain", func(s *v1alpha2.NginxOperatorSpec) any { return s.Drain }},
		{"metrics", func(s *v1alpha2.NginxOperatorSpec) any { return s.Metrics }},
	} {
		if !same(part.of(&before.Spec), part.of(after)) {
			changes = append(changes, part.name)
		}
	}
	if beforeConfig != config {
		changes = append(changes, fmt.Sprintf("configuration %s → %s", beforeConfig, config))
	}
	return strings.Join(changes, ", ")
}

// same compares values as the API does: in JSON, quantities and unset fields have one form.
func same(a, b any) bool {
	x, errX := Hash(a)
	y, errY := Hash(b)
	return errX == nil && errY == nil && x == y
}
