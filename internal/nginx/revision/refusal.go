package revision

import (
	"encoding/json"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// refusal is a configuration whose load ended worker processes, nginx or a container. The pod that
// remembers it may be gone by the time that others test it, so an annotation of the candidate keeps it.
type refusal struct {
	Revision string `json:"revision"`
	// Template is the hash of the pods' template: with other resources, the configuration may fit.
	Template string                `json:"template"`
	Problems []instanceapi.Problem `json:"problems"`
}

func (r refusal) encode() (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}

// refusalProblems returns why the requested configuration was refused for good with the present template; empty
// if it was not.
func (p *progress) refusalProblems() []instanceapi.Problem {
	next := p.State.Config(naming.ConfigMapNext(p.Nginx.Name))
	if next == nil {
		return nil
	}
	var r refusal
	// An annotation that cannot be read was changed by another client, and refuses nothing.
	if json.Unmarshal([]byte(next.Annotations[naming.AnnotationConfigRefused]), &r) != nil {
		return nil
	}
	if r.Revision != p.selection.Run.Config.Revision || r.Template != p.selection.Run.Hash {
		return nil
	}
	return r.Problems
}

// refusal returns the value of the candidate's annotation; empty if it was not refused for good.
func (p *progress) refusal() (string, error) {
	if !p.Rollout.Fatal || p.Next.Revision != p.selection.Run.Config.Revision {
		return "", nil
	}
	return refusal{p.Next.Revision, p.selection.Run.Hash, p.Rollout.Problems}.encode()
}
