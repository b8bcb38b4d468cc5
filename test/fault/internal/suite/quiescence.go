package suite

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

// mostKept bounds the number of ends of cases that are kept for the quiescence check.
const mostKept = 40

// keep keeps the end of a case, with its pods, for the quiescence check. It reports whether there
// was room.
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

// ends returns the number of ends that are kept.
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

// Quiescence has the writes of operators in a time in which there was nothing to do.
type Quiescence struct {
	// Ends is the number of ends of cases that they managed, and Silence the time.
	Ends    int
	Silence time.Duration
	// Writes are the writes after the start, during the silence, after listing everything again,
	// and after a restart.
	Writes []proxy.Request
}

// Quiescence runs an operator on the ends of many cases for a time. In that time, the operator has
// to list everything again, and is restarted. Cases with their own arguments get another operator,
// which runs at the same time.
func (s *Stage) Quiescence(ctx context.Context, silence time.Duration) (*Quiescence, error) {
	v := &Quiescence{Ends: s.ends(), Silence: silence}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	for n, arguments := range slices.Sorted(maps.Keys(s.kept)) {
		o := s.operator(fmt.Sprintf("quiescence-%d", n+1), strings.Join(s.kept[arguments], ","))
		o.arguments = strings.Fields(arguments)
		group.Go(func() {
			err := o.watchOver(ctx, silence)
			mu.Lock()
			defer mu.Unlock()
			errs, v.Writes = append(errs, err), append(v.Writes, o.client.Writes()...)
		})
	}
	group.Wait()
	return v, errors.Join(append(errs, s.Forget())...)
}

// watchOver runs an operator for a third of the time, for another third after it has to list
// everything again, and for the last third after a restart.
func (o *operator) watchOver(ctx context.Context, silence time.Duration) error {
	defer o.halt()
	if err := o.start(); err != nil {
		return err
	}
	for _, next := range []func() error{func() error { o.client.Expire(); return nil }, o.restart, func() error { return nil }} {
		if err := o.await(ctx, func(context.Context) error { return o.client.Listed() }); err != nil {
			return fmt.Errorf("quiescence check: %w\n%s", err, o.said())
		}
		if err := pause(ctx, silence/3); err != nil {
			return err
		}
		if err := errors.Join(o.alive(), next()); err != nil {
			return fmt.Errorf("quiescence check: %w\n%s", err, o.said())
		}
	}
	return nil
}
