package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/nginx-operator/test/fault/internal/proxy"
)

// mostKept is how many ends of cases are kept for the vigil.
const mostKept = 40

// keep leaves what a case has ended with as it is, with its pods, for the vigil. It tells whether
// there was room.
func (s *Stage) keep(namespace string, arguments []string) bool {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	if s.count() >= s.room {
		return false
	}
	if s.kept == nil {
		s.kept = map[string][]string{}
	}
	by := strings.Join(arguments, " ")
	s.kept[by] = append(s.kept[by], namespace)
	return true
}

// ends counts those that are kept.
func (s *Stage) ends() int {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	return s.count()
}

func (s *Stage) count() (n int) {
	for _, namespaces := range s.kept {
		n += len(namespaces)
	}
	return n
}

// Vigil is what operators wrote in a time in which there was nothing to do.
type Vigil struct {
	// Ends are those of the cases that they looked after, Silence how long.
	Ends    int
	Silence time.Duration
	// Writes are of their start, of the silence, after they had to list everything anew, and after a
	// restart.
	Writes []proxy.Request
}

// Vigil lets an operator look after the ends of many cases for a time, has it list everything anew,
// and restarts it. Cases whose operator has arguments of its own have another one, at the same time.
func (s *Stage) Vigil(ctx context.Context, silence time.Duration) (*Vigil, error) {
	v := &Vigil{Ends: s.ends(), Silence: silence}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	for n, arguments := range slices.Sorted(maps.Keys(s.kept)) {
		o := s.operator(fmt.Sprintf("vigil-%d", n+1), strings.Join(s.kept[arguments], ","))
		o.arguments = strings.Fields(arguments)
		group.Go(func() {
			err := o.watchOver(ctx, silence)
			mu.Lock()
			defer mu.Unlock()
			errs, v.Writes = append(errs, err), append(v.Writes, o.guest.Writes()...)
		})
	}
	group.Wait()
	return v, errors.Join(append(errs, s.Forget())...)
}

// watchOver runs an operator for a third of the time, for another one after it has to list everything anew, and for
// the last one after a restart.
func (o *operator) watchOver(ctx context.Context, silence time.Duration) error {
	defer o.halt()
	if err := o.start(); err != nil {
		return err
	}
	for _, next := range []func() error{func() error { o.guest.Expire(); return nil }, o.restart, func() error { return nil }} {
		if err := o.await(ctx, func(context.Context) error { return o.guest.Listed() }); err != nil {
			return fmt.Errorf("vigil: %w\n%s", err, o.said())
		}
		if err := pause(ctx, silence/3); err != nil {
			return err
		}
		if err := errors.Join(o.alive(), next()); err != nil {
			return fmt.Errorf("vigil: %w\n%s", err, o.said())
		}
	}
	return nil
}
