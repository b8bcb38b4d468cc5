package suite

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// Case is one way to disturb a journey.
type Case struct {
	// Kind, Journey and Point are the parts of its name, which replays it.
	Kind, Journey, Point string
	// run runs the case. reached reports whether the disturbance happened.
	run func(ctx context.Context, s *Stage, g *Golden) (reached bool, err error)
}

// String returns the name of the case: kind/journey/point.
func (c Case) String() string { return c.Kind + "/" + c.Journey + "/" + c.Point }

// disturbance is what happens to the requests and the events of a run.
type disturbance struct {
	// faults are the faults of writes by number, counted from 1; readFaults are those of reads.
	faults, readFaults map[int]proxy.Fault
	// The n-th event of view gets delivery.
	view     string
	n        int
	delivery proxy.Delivery

	happened atomic.Int64
}

// apply disturbs a run from now on.
func (d *disturbance) apply(p *caseRun) {
	writes, reads, events := len(p.client.Writes()), len(p.client.Reads()), len(p.client.Views()[d.view])
	meet := func(fault proxy.Fault) proxy.Fault {
		if fault != proxy.None {
			d.happened.Add(1)
		}
		return fault
	}
	p.client.OnWrite = func(n int, _ proxy.Request) proxy.Fault { return meet(d.faults[n-writes]) }
	p.client.OnRead = func(n int, _ proxy.Request) proxy.Fault { return meet(d.readFaults[n-reads]) }
	p.client.OnEvent = func(e proxy.Event) proxy.Delivery {
		if e.View != d.view || e.N-events != d.n {
			return proxy.Deliver
		}
		d.happened.Add(1)
		return d.delivery
	}
}

// disturbed runs a journey with a disturbance. It checks that the end is the golden one, and stays
// so.
func (s *Stage) disturbed(ctx context.Context, c Case, g *Golden, d *disturbance) (reached bool, err error) {
	p, err := s.newCaseRun(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	d.apply(p)
	err = p.perform(ctx)
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return d.happened.Load() >= int64(max(1, len(d.faults))), err
}

// ends checks that a run ends like the golden one.
func (p *caseRun) ends(ctx context.Context, g *Golden, begin snapshot.Picture) error {
	if err := p.matches(ctx, g); err != nil {
		return err
	}
	if err := p.promise(ctx); err != nil {
		return err
	}
	if err := p.orders.check(g.MostOrders); err != nil {
		return err
	}
	end, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	if err := p.honest(end); err != nil {
		return err
	}
	if err := errors.Join(p.renewed(begin, end), lasted(g, begin, end)); err != nil {
		return err
	}
	if err := p.stable(ctx); err != nil {
		return err
	}
	return p.matches(ctx, g)
}

// lasted checks that no object was recreated that stays in a golden run.
func lasted(g *Golden, begin, end snapshot.Picture) error {
	for _, key := range snapshot.Replaced(begin, end) {
		if g.Lasting[key] {
			return fmt.Errorf("%s was deleted and recreated", key)
		}
	}
	return nil
}

// CrashCases returns a case for every write of a journey with every fault.
func CrashCases(journey string, g *Golden) []Case {
	var all []Case
	for n := range g.Writes {
		for _, fault := range proxy.FaultsOfWrites() {
			all = append(all, crash(journey, map[int]proxy.Fault{n + 1: fault}))
		}
	}
	return all
}

// ReadCases returns a case for every read of a journey with every fault.
func ReadCases(journey string, g *Golden) []Case {
	var all []Case
	for n := range g.Reads {
		for _, fault := range proxy.FaultsOfReads() {
			all = append(all, read(journey, fault, n+1))
		}
	}
	return all
}

func read(journey string, fault proxy.Fault, n int) Case {
	c := Case{Kind: "read", Journey: journey, Point: fmt.Sprintf("%s@%d", fault, n)}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.disturbed(ctx, c, g, &disturbance{readFaults: map[int]proxy.Fault{n: fault}})
	}
	return c
}

// apart is the maximum number of writes from the first to the second of a pair. It is small because
// a failed write is soon retried.
const apart = 4

// PairCases returns a case for every write of a journey with two faults: one for that write, and
// one for a write soon after it. There are too many pairs to run all of them, so the faults are
// drawn. The same ones are drawn each time.
func PairCases(journey string, g *Golden) []Case {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(journey)) // a hash never fails
	draw := rand.New(rand.NewPCG(seed.Sum64(), 0))
	fault := func() proxy.Fault { return proxy.FaultsOfWrites()[draw.IntN(len(proxy.FaultsOfWrites()))] }
	var all []Case
	for n := range g.Writes {
		first, second, later := fault(), fault(), draw.IntN(apart)
		all = append(all, crash(journey, map[int]proxy.Fault{n + 1: first, n + 2 + later: second}))
	}
	return all
}

func crash(journey string, faults map[int]proxy.Fault) Case {
	var points []string
	for _, n := range slices.Sorted(maps.Keys(faults)) {
		points = append(points, fmt.Sprintf("%s@%d", faults[n], n))
	}
	c := Case{Kind: "crash", Journey: journey, Point: strings.Join(points, "+")}
	if len(points) > 1 {
		c.Kind = "pair"
	}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.disturbed(ctx, c, g, &disturbance{faults: faults})
	}
	return c
}

// UnobservedCases returns a case for every event of every view with every delivery that keeps it
// from the operator.
func UnobservedCases(journey string, g *Golden) []Case {
	var all []Case
	for _, view := range slices.Sorted(maps.Keys(g.Events)) {
		for n := range g.Events[view] {
			for _, delivery := range proxy.Deliveries() {
				all = append(all, unobserved(journey, view, n+1, delivery))
			}
		}
	}
	return all
}

func unobserved(journey, view string, n int, delivery proxy.Delivery) Case {
	c := Case{Kind: "unobserved", Journey: journey, Point: fmt.Sprintf("%s@%d:%s", delivery, n, view)}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.disturbed(ctx, c, g, &disturbance{view: view, n: n, delivery: delivery})
	}
	return c
}

// Parse returns the case with a name.
func Parse(name string) (Case, error) {
	kind, rest, _ := strings.Cut(name, "/")
	journey, point, _ := strings.Cut(rest, "/")
	switch kind {
	case "crash", "pair":
		faults := map[int]proxy.Fault{}
		for one := range strings.SplitSeq(point, "+") {
			fault, n, err := parseFault(one, proxy.FaultsOfWrites())
			if err != nil {
				return Case{}, err
			}
			faults[n] = fault
		}
		return crash(journey, faults), nil
	case "read":
		fault, n, err := parseFault(point, proxy.FaultsOfReads())
		return read(journey, fault, n), err
	case "order":
		fault, n, err := parseFault(point, faultsOfOrders)
		return orderCase(journey, fault, n), err
	case "unobserved", "stale":
		return parseEvent(kind, journey, point)
	case realKind:
		return realCase(journey, point), nil
	case "instance":
		return instanceCase(journey, point), nil
	case "leaders":
		return leaders(journey), nil
	case "rival":
		return rival(journey), nil
	}
	return Case{}, errors.New("the name of a case must begin with crash/, pair/, read/, unobserved/, stale/, leaders/, rival/, order/, instance/ or real/")
}

// parseEvent parses the point of a case that concerns an event.
func parseEvent(kind, journey, point string) (Case, error) {
	at, view, _ := strings.Cut(point, ":")
	delivery, number, _ := strings.Cut(at, "@")
	n, err := strconv.Atoi(number)
	if err != nil {
		return Case{}, fmt.Errorf("%q does not contain the number of an event", point)
	}
	switch {
	case kind == "stale" && delivery == "view":
		return stale(journey, view, n), nil
	case kind == "unobserved" && slices.Contains(proxy.Deliveries(), proxy.Delivery(delivery)):
		return unobserved(journey, view, n, proxy.Delivery(delivery)), nil
	}
	return Case{}, fmt.Errorf("%q is not an event: write view for stale, one of %v for unobserved, @ and the number of an event", at, proxy.Deliveries())
}

// parseFault parses a fault with the number of its request.
func parseFault(text string, of []proxy.Fault) (proxy.Fault, int, error) {
	fault, number, _ := strings.Cut(text, "@")
	n, err := strconv.Atoi(number)
	if err != nil || !slices.Contains(of, proxy.Fault(fault)) {
		return "", 0, fmt.Errorf("%q is not a fault: write one of %v, @ and the number of a request", text, of)
	}
	return proxy.Fault(fault), n, nil
}
