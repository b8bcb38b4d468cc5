package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
)

// whole reads objects with their content.
func (o *Observer) whole() cachedcontent.Reader {
	return cachedcontent.Reader{Cached: o.cache, Live: o.live}
}

// add adds an object that was read, or returns an error. why is why the caches do not have its content.
func addOwned(s *State, kind, name string, object owned.Object, why budget.Excess, err error) error {
	if why != "" {
		if s.NotCached == nil {
			s.NotCached = map[budget.Excess][]string{}
		}
		s.NotCached[why] = append(s.NotCached[why], kind+" "+name)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	s.Owned[owned.Key{Kind: kind, Name: name}] = object
	return nil
}

// addListed adds an object that was listed. Its content is read only if it is declared: anyone can create others, and to
// delete these needs no content.
func (o *Observer) addListed(ctx context.Context, app *application.Application, kind string, object owned.Object, declared bool, state *State) error {
	if !declared {
		return addOwned(state, kind, object.GetName(), object, "", nil)
	}
	name := object.GetName()
	why, err := o.whole().Complete(ctx, app, object)
	return addOwned(state, kind, name, object, why, err)
}
