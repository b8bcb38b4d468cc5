package suite

import (
	"errors"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// replace replaces the operator by one of another release, like an upgrade that takes no time. If
// two operators run, both are replaced.
func (o *operator) replace(by journey.Release) error {
	all := []*operator{o}
	if o.beside != nil {
		all = append(all, o.beside)
	}
	var errs []error
	for _, one := range all {
		// Set this before the kill, so that a concurrent restart starts the right release.
		one.mu.Lock()
		one.release = by
		one.mu.Unlock()
		one.kill()
		errs = append(errs, one.start())
	}
	return errors.Join(errs...)
}
