package campaign

import (
	"errors"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// replace replaces the operator by one of another release, as an upgrade does that takes no time.
// Of two that are at work, both are replaced.
func (o *operator) replace(by journey.Release) error {
	all := []*operator{o}
	if o.beside != nil {
		all = append(all, o.beside)
	}
	var errs []error
	for _, one := range all {
		// Before it is killed, so that whoever else starts it meanwhile takes the right one.
		one.mu.Lock()
		one.upgraded = by == journey.Next
		one.mu.Unlock()
		one.kill()
		errs = append(errs, one.start())
	}
	return errors.Join(errs...)
}
