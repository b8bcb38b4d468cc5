package campaign

import (
	"context"
	"errors"
	"fmt"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// twin makes sure that an object that is created as a spec says ends as one that has come to it on
// another way. Where neither is ready, what runs is what ran before, and nothing more can be said.
func (c *crowd) twin(ctx context.Context, by string, spec map[string]any, other *state, mask snapshot.Mask) (err error) {
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
	case created.ready != other.ready:
		return fmt.Errorf("ready is %t where the object is created so, and %t where it was changed: %q and %q",
			created.ready, other.ready, created.why, other.why)
	case created.ready:
		return m.looks(ctx, other.picture, mask)
	}
	return nil
}
