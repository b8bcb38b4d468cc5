package suite

import (
	"context"
	"errors"
	"fmt"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// twin checks that an object created with a spec ends like one that reached the spec by changes. If
// neither is ready, or the changes are held back, there is nothing to compare, because what runs is then what ran before.
func (c *namespacePool) twin(ctx context.Context, by string, spec map[string]any, other *state, mask snapshot.Mask) (err error) {
	m, err := c.vacant(ctx, by)
	if err != nil {
		return err
	}
	var created *state
	defer func() {
		if err != nil {
			err = errors.Join(err, m.abandon(ctx))
		} else {
			err = m.rest(ctx, created)
		}
	}()
	if err := m.put(ctx, spec); err != nil {
		return err
	}
	created, err = m.state(ctx)
	switch {
	case err != nil:
		return err
	case other.held(c.of):
		return nil
	case created.ready != other.ready:
		return fmt.Errorf("ready is %t if the object is created in this state, but %t if it was changed to it: %q and %q",
			created.ready, other.ready, created.why, other.why)
	case created.ready:
		return m.awaitPicture(ctx, other.picture, mask)
	}
	return nil
}
