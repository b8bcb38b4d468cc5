package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"example.com/nginx-operator/api/v1alpha2"
)

// Inputs is the part of a spec that the pod template is made from, with what means the
// same written in the same way.
func Inputs(spec *v1alpha2.NginxOperatorSpec) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{
		Image:         spec.Image,
		Ports:         podPorts(spec.Ports),
		ForceRedeploy: spec.ForceRedeploy,
		Content: slices.SortedFunc(slices.Values(spec.Content), func(a, b v1alpha2.Content) int {
			return cmp.Compare(a.MountPath, b.MountPath)
		}),
		TLS: slices.SortedFunc(slices.Values(spec.TLS), func(a, b v1alpha2.Certificate) int {
			return cmp.Compare(a.Name, b.Name)
		}),
		Resources:   spec.Resources,
		PodTemplate: spec.PodTemplate,
		Drain:       spec.Drain,
		Metrics:     spec.Metrics,
	}
}

// podPorts are ports without what only the Service knows.
func podPorts(ports []v1alpha2.Port) []v1alpha2.Port {
	ports = slices.Clone(ports)
	for i := range ports {
		ports[i].NodePort = nil
	}
	return ports
}

// Hash is the same for the same value, in every release: JSON of a field that is unset
// leaves it out, so fields that are added later change nothing.
func Hash(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return sum(string(text)), nil
}

func sum(parts ...string) string {
	s := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(s[:8])
}

// NameHash is the part of a ControllerRevision's name that tells revisions apart.
func NameHash(template, config string) string { return sum(template, config)[:10] }

// Attempt identifies what is asked for: the pods, the configuration, and how they are to
// be rolled out. The number of replicas is no part of it: an autoscaler that changes it
// must not try a bad rollout again. Nor is what happens on a failure, which can be decided
// afterwards, nor what it waits for before it begins.
func Attempt(pods, config string, rollout *v1alpha2.Rollout) (string, error) {
	if rollout != nil {
		how := *rollout
		how.OnFailure, how.Gates = "", nil
		rollout = &how
		if apiequality.Semantic.DeepEqual(how, v1alpha2.Rollout{}) {
			rollout = nil
		}
	}
	policy, err := json.Marshal(rollout)
	if err != nil {
		return "", err
	}
	return sum(pods, config, string(policy)), nil
}
