// Package plan selects a revision and builds its objects, as one pass of the operator does.
package plan

import (
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// Plan is a selection and the objects that are built for it.
type Plan struct {
	*revision.Selection
	desired.Objects
}

// Of returns the plan for an input.
func Of(in revision.Input) (Plan, revision.Blocked, error) {
	app := application.Of(in.Nginx)
	in.Invalid = app.Invalid
	selection, blocked, err := revision.Select(in)
	if err != nil {
		return Plan{}, blocked, err
	}
	objects, err := desired.Build(app, in.State, selection)
	return Plan{selection, objects}, blocked, err
}

// Fresh returns the plan for an application that has no objects yet.
func Fresh(nginx *v1alpha2.NginxOperator, options revision.Options) (Plan, revision.Blocked, error) {
	return Of(revision.Input{Nginx: nginx, State: observe.State{}, Options: options})
}
