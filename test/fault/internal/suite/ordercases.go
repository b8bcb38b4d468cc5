package suite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.com/nginx-operator/test/fault/internal/proxy"
)

// faultsOfOrders are the faults that an order to a pod can meet: it is cut off, its answer is lost, or
// the operator is killed before or after the pod gets it.
var faultsOfOrders = []proxy.Fault{proxy.Cut, proxy.Drop, proxy.KillBefore, proxy.KillAfter}

// OrderCases returns a case for every order of a journey with every fault.
func OrderCases(journey string, g *Golden) []Case {
	var all []Case
	for n := range g.Orders {
		for _, fault := range faultsOfOrders {
			all = append(all, orderCase(journey, fault, n+1))
		}
	}
	return all
}

func orderCase(journey string, fault proxy.Fault, n int) Case {
	c := Case{Kind: "order", Journey: journey, Point: fmt.Sprintf("%s@%d", fault, n)}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		return s.runOrder(ctx, c, g, fault, n)
	}
	return c
}

// runOrder runs a journey in which the n-th order meets a fault.
func (s *Stage) runOrder(ctx context.Context, c Case, g *Golden, fault proxy.Fault, n int) (reached bool, err error) {
	p, err := s.newCaseRun(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	var met atomic.Bool
	p.orders.disturb(func(now int) proxy.Fault {
		if now != n {
			return proxy.None
		}
		met.Store(true)
		return fault
	})
	err = p.perform(ctx)
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err == nil && !fault.Kills() {
		err = p.orders.single()
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return met.Load(), err
}

// checkOrders checks the orders of an undisturbed run.
func (p *caseRun) checkOrders() error {
	_, most := p.orders.counts()
	return errors.Join(p.orders.check(most), p.orders.single())
}
