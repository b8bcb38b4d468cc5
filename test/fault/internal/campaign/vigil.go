package campaign

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/nginx-operator/test/fault/internal/proxy"
)

// mostKept is how many ends of cases are kept for the vigil.
const mostKept = 40

// keep leaves what a case has ended with as it is, with its pods, for the vigil. It tells whether
// there was room.
func (s *Stage) keep(namespace string) bool {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	if len(s.kept) >= s.room {
		return false
	}
	s.kept = append(s.kept, namespace)
	return true
}

// Vigil is what one operator wrote in a time in which there was nothing to do.
type Vigil struct {
	// Ends are those of the cases that it looked after, Silence how long.
	Ends    int
	Silence time.Duration
	// Writes are of its start, of the silence, after it had to list everything anew, and after a
	// restart.
	Writes []proxy.Request
}

// Vigil lets one operator look after the ends of many cases for a time, has it list everything anew,
// and restarts it.
func (s *Stage) Vigil(ctx context.Context, silence time.Duration) (v *Vigil, err error) {
	v = &Vigil{Ends: len(s.kept), Silence: silence}
	o := s.operator("vigil", strings.Join(s.kept, ","))
	defer func() {
		o.halt()
		for _, namespace := range s.kept {
			if forgotten := s.Pods.Forget(namespace); err == nil {
				err = forgotten
			}
		}
	}()
	if err := o.start(); err != nil {
		return nil, err
	}
	for _, next := range []func() error{func() error { o.guest.Expire(); return nil }, o.restart, func() error { return nil }} {
		if err := o.await(ctx, func(context.Context) error { return o.guest.Listed() }); err != nil {
			return nil, fmt.Errorf("vigil: %w\n%s", err, o.said())
		}
		if err := pause(ctx, silence/3); err != nil {
			return nil, err
		}
		if err := next(); err != nil {
			return nil, err
		}
	}
	v.Writes = o.guest.Writes()
	return v, nil
}
