package desired

import (
	"encoding/json"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
)

// refusal is a configuration whose load ended worker processes, nginx or a container. The
// pod that remembers it may be gone by the time that others test it, so it is kept on the
// ConfigMap of the candidate.
type refusal struct {
	Revision string `json:"revision"`
	// Template is the hash of the pods' template: with other resources it may fit.
	Template string                `json:"template"`
	Problems []instanceapi.Problem `json:"problems"`
}

func (r refusal) encode() (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}

// refused is why the requested configuration was refused for good with the present
// template; empty: it was not.
func (in *input) refused() []instanceapi.Problem {
	next := in.state.Config(naming.ConfigMapNext(in.nginx.Name))
	if next == nil {
		return nil
	}
	var r refusal
	// An annotation that cannot be read was changed by others, and refuses nothing.
	if json.Unmarshal([]byte(next.Annotations[naming.AnnotationConfigRefused]), &r) != nil {
		return nil
	}
	if r.Revision != in.requested.Revision || r.Template != in.course.run.hash {
		return nil
	}
	return r.Problems
}
