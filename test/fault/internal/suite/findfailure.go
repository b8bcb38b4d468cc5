package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// Undisturbed is the kind of failures in undisturbed runs.
const Undisturbed = "golden"

// FirstFailure is the failure that reveals a bug; zero: there was none.
type FirstFailure struct {
	Failure
	// Ran is the number of cases, including undisturbed journeys, that succeeded before.
	Ran int
}

// FindFailure runs the journeys undisturbed, then the cases, until one fails. The golden runs are those
// of the operator with the bug, because a tester of an operator has no better one to compare with.
// names are prefixes of names of cases, in which an asterisk matches anything; golden/ and a
// journey is that journey undisturbed.
func (c *Suite) FindFailure(ctx context.Context, journeys []*journey.Journey, names []string) (FirstFailure, error) {
	wanted, err := named(journeys, names)
	if err != nil {
		return FirstFailure{}, err
	}
	c.Stage.journeys = map[string]*journey.Journey{}
	for _, j := range wanted {
		c.Stage.journeys[j.Name] = j
	}
	h := &search{goldens: map[string]*Golden{}}
	h.repeat(ctx, c, len(wanted), func(ctx context.Context, i int) (string, error) {
		golden, err := c.Stage.Golden(ctx, wanted[i])
		h.mu.Lock()
		defer h.mu.Unlock()
		h.goldens[wanted[i].Name] = golden
		return Undisturbed + "/" + wanted[i].Name, err
	})
	if h.first.Err != nil || ctx.Err() != nil {
		return h.first, ctx.Err()
	}
	cases := expand(names, h.goldens)
	h.repeat(ctx, c, len(cases), func(ctx context.Context, i int) (string, error) {
		_, err := cases[i].run(ctx, c.Stage, h.goldens[cases[i].Journey])
		return cases[i].String(), err
	})
	return h.first, ctx.Err()
}

// search records the first failure.
type search struct {
	mu      sync.Mutex
	goldens map[string]*Golden
	first   FirstFailure
}

// repeat calls do n times, and stops early after a failure.
func (h *search) repeat(ctx context.Context, c *Suite, n int, do func(ctx context.Context, i int) (string, error)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.each(ctx, n, time.Time{}, func(i int) {
		name, err := do(ctx, i)
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			h.first.Failure = Failure{name, err}
			stop()
		default:
			h.first.Ran++
		}
	})
}

// named returns the journeys of the given names of cases.
func named(journeys []*journey.Journey, names []string) ([]*journey.Journey, error) {
	var wanted []*journey.Journey
	for _, name := range names {
		parts := strings.SplitN(name, "/", 3)
		i := slices.IndexFunc(journeys, func(j *journey.Journey) bool { return len(parts) > 1 && j.Name == parts[1] })
		if i < 0 {
			return nil, fmt.Errorf("%s: the second part of a case's name must be the name of a journey", name)
		}
		if !slices.Contains(wanted, journeys[i]) {
			wanted = append(wanted, journeys[i])
		}
	}
	return wanted, nil
}

// CheckName returns an error if FindFailure does not accept a name.
func CheckName(journeys []*journey.Journey, name string) error {
	if _, err := named(journeys, []string{name}); err != nil {
		return err
	}
	kind, _, _ := strings.Cut(name, "/")
	if kind != Undisturbed && !slices.Contains(kinds, kind) {
		return fmt.Errorf("%s: there are no cases of kind %s", name, kind)
	}
	return nil
}

// expand returns the cases whose names begin as given, in that order. If a complete name is not
// among the cases of the golden run, its case is run all the same; a prefix may match no case.
func expand(names []string, goldens map[string]*Golden) []Case {
	var cases []Case
	known := map[string]bool{}
	for _, name := range names {
		kind, rest, _ := strings.Cut(name, "/")
		if kind == Undisturbed {
			continue
		}
		about, _, _ := strings.Cut(rest, "/")
		found := slices.DeleteFunc(possible(about, goldens[about]), func(one Case) bool { return !fits(one.String(), name) })
		if one, err := Parse(name); len(found) == 0 && err == nil {
			found = []Case{one}
		}
		for _, one := range found {
			if !known[one.String()] {
				cases = append(cases, one)
			}
			known[one.String()] = true
		}
	}
	return cases
}

// fits reports whether the name of a case matches a prefix, in which an asterisk matches anything.
func fits(name, wanted string) bool {
	begin, rest, _ := strings.Cut(wanted, "*")
	return strings.HasPrefix(name, begin) && strings.Contains(name[len(begin):], rest)
}

// Forget ends the pods that were kept for the quiescence check.
func (s *Stage) Forget() error {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	var errs []error
	for _, namespaces := range s.kept {
		for _, namespace := range namespaces {
			errs = append(errs, s.Pods.Forget(namespace))
		}
	}
	s.kept = nil
	return errors.Join(errs...)
}
