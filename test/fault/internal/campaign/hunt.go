package campaign

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

// Undisturbed is the kind of what fails before any fault.
const Undisturbed = "golden"

// Catch is what an operator was found out by; zero: nothing.
type Catch struct {
	Failure
	// Played is how many cases it went well in before, with the journeys undisturbed.
	Played int
}

// Hunt plays journeys undisturbed, and then cases, until something fails. What is golden is the
// operator's own: whoever tests an operator has no better one to compare it with. names are the
// beginnings of the cases' names, in which an asterisk stands for anything; golden/ and a journey is
// that one undisturbed.
func (c *Campaign) Hunt(ctx context.Context, journeys []*journey.Journey, names []string) (Catch, error) {
	wanted, err := named(journeys, names)
	if err != nil {
		return Catch{}, err
	}
	c.Stage.journeys = map[string]*journey.Journey{}
	for _, j := range wanted {
		c.Stage.journeys[j.Name] = j
	}
	h := &hunt{goldens: map[string]*Golden{}}
	h.all(ctx, c, len(wanted), func(ctx context.Context, i int) (string, error) {
		golden, err := c.Stage.Golden(ctx, wanted[i])
		h.mu.Lock()
		defer h.mu.Unlock()
		h.goldens[wanted[i].Name] = golden
		return Undisturbed + "/" + wanted[i].Name, err
	})
	if h.catch.Err != nil || ctx.Err() != nil {
		return h.catch, ctx.Err()
	}
	cases := expand(names, h.goldens)
	h.all(ctx, c, len(cases), func(ctx context.Context, i int) (string, error) {
		_, err := cases[i].run(ctx, c.Stage, h.goldens[cases[i].Journey])
		return cases[i].String(), err
	})
	return h.catch, ctx.Err()
}

// hunt notes what failed first.
type hunt struct {
	mu      sync.Mutex
	goldens map[string]*Golden
	catch   Catch
}

// all does something so many times, and leaves the rest when something has failed.
func (h *hunt) all(ctx context.Context, c *Campaign, n int, do func(ctx context.Context, i int) (string, error)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.each(ctx, n, time.Time{}, func(i int) {
		name, err := do(ctx, i)
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			h.catch.Failure = Failure{name, err}
			stop()
		default:
			h.catch.Played++
		}
	})
}

// named are the journeys of the beginnings of names.
func named(journeys []*journey.Journey, names []string) ([]*journey.Journey, error) {
	var wanted []*journey.Journey
	for _, name := range names {
		parts := strings.SplitN(name, "/", 3)
		i := slices.IndexFunc(journeys, func(j *journey.Journey) bool { return len(parts) > 1 && j.Name == parts[1] })
		if i < 0 {
			return nil, fmt.Errorf("%s: the second part of a case's name is that of a journey", name)
		}
		if !slices.Contains(wanted, journeys[i]) {
			wanted = append(wanted, journeys[i])
		}
	}
	return wanted, nil
}

// CheckName tells what is wrong with a name as Hunt takes it.
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

// expand are the cases of the beginnings of names, in their order. A name that is whole is a case,
// also if it is not among those that the golden run has places for; one that is not can have none.
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

// fits tells whether a case's name begins as is wanted. An asterisk stands for anything.
func fits(name, wanted string) bool {
	begin, rest, _ := strings.Cut(wanted, "*")
	return strings.HasPrefix(name, begin) && strings.Contains(name[len(begin):], rest)
}

// Forget ends the pods that were kept for a vigil.
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
