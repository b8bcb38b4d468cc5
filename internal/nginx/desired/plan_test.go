package desired

import (
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/revision"
)

// plan is a selection and the objects built for it.
type plan struct {
	*revision.Selection
	Objects
}

func planFor(in revision.Input) (*plan, revision.Blocked, error) {
	return planOf(application.Of(in.Nginx), in)
}

func planOf(app *application.Application, in revision.Input) (*plan, revision.Blocked, error) {
	selection, blocked, err := revision.Select(in)
	if err != nil {
		return nil, blocked, err
	}
	objects, err := Build(app, in.State, selection)
	return &plan{selection, objects}, blocked, err
}
