package suite

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// RealInstances runs cases with the real instance manager and real nginx, in containers.
type RealInstances struct {
	*Stage
	Containers Containers
	// places limits the number of journeys at a time, because real pods cost more than stand-ins.
	places chan struct{}

	mu      sync.Mutex
	goldens map[string]*realGolden
}

// setJourneys sets the journeys.
func (r *RealInstances) setJourneys(journeys []*journey.Journey) {
	r.journeys = map[string]*journey.Journey{}
	for _, j := range journeys {
		r.journeys[j.Name] = j
	}
}

// Containers runs real pods.
type Containers interface {
	Pods
	// Delay makes the volumes of a namespace's pods change later than usual from now on.
	Delay(namespace string, late time.Duration)
	// Strike does something to the processes of a pod, for example kills them.
	Strike(namespace, pod, fault string) error
	// Traffic returns the number of requests that clients sent to a namespace's pods, and an error
	// if one was lost without a strike. Answers returns the responses of the pods.
	Traffic(namespace string) (requests int, lost error)
	Answers(ctx context.Context, namespace string) ([]string, error)
}

// NewReal uses a stage for real pods. At most parallel journeys run at a time.
func NewReal(s *Stage, c Containers, parallel int) *RealInstances {
	s.Pods, s.Prefix, s.room = c, RealPrefix, 0
	return &RealInstances{Stage: s, Containers: c, places: make(chan struct{}, parallel), goldens: map[string]*realGolden{}}
}

// RealPrefix is the prefix of the names of namespaces in which real pods run.
const RealPrefix = "real"

// realMeans matches the fields that show restarts of containers, which the golden run did not have,
// and requests for a faster sync of volumes.
const realMeans = `^Pod/[^.]*\.status\.containerStatuses\[\d+\]\.(restartCount|lastState.*)$|^NginxOperator/[^.]*\.status\.restarts$` +
	`|^Pod/[^.]*\.metadata\.annotations\.operator\.example\.com/sync$`

const (
	// late is the point of the case in which volumes change late.
	late = "volumes-late"
	// lateness is the delay of the volumes.
	lateness = 3 * time.Second
)

// The moments at which processes are struck: on any request, or on the request to load a
// configuration, before or after the instance gets it.
const (
	anyRequest = "queried"
	beforeLoad = "requested"
	afterLoad  = "loading"
)

// proxied are the faults of instances that also work with real ones.
var proxied = []string{"slow", "hangs", "hangs-up", "garbage", "half", "old-protocol", "serves-another", "forgetful",
	"lost-answer", "half-an-order", "blocks-orders", "other-process", "captures-orders", "forges-orders"}

// operatorKilled is the fault that kills the operator, and not the pod.
const operatorKilled = "operator-killed"

// processFaults are what can be done to processes.
var processFaults = []string{"killed", "master-killed", "worker-killed", "stopped", operatorKilled}

// restarting are the faults after which a pod is not ready for a while.
var restarting = []string{"killed", "master-killed"}

// RealCases returns the cases in which real instances misbehave or processes are struck.
func RealCases(j *journey.Journey) []Case {
	if !j.Real {
		return nil
	}
	all := []Case{realCase(j.Name, late)}
	for _, name := range proxied {
		all = append(all, realCase(j.Name, name+"-all"), realCase(j.Name, name+"-one"))
	}
	for _, fault := range processFaults {
		for _, moment := range []string{anyRequest, beforeLoad, afterLoad} {
			all = append(all, realCase(j.Name, fault+"-"+moment))
		}
	}
	return all
}

func realCase(name, point string) Case {
	c := Case{Kind: realKind, Journey: name, Point: point}
	c.run = func(ctx context.Context, s *Stage, _ *Golden) (bool, error) {
		switch {
		case s.Real == nil:
			return false, fmt.Errorf("there are no real instances: set --images to the folder of the nginx images")
		case s.Real.journeys[name] == nil || !s.Real.journeys[name].Real:
			return false, fmt.Errorf("journey %s is not one for real instances", name)
		}
		d, err := s.Real.podFault(point)
		if err != nil {
			return false, err
		}
		return s.Real.run(ctx, s.Real.journeys[name], d)
	}
	return c
}

// podFault is what is done to the pods of a run.
type podFault struct {
	// handler wraps their instances; nil: no wrapper. begin starts the fault.
	handler wrapper
	begin   func(*caseRun)
	// reached reports whether the fault has happened.
	reached func() bool
	// canKill reports whether a pod may become not ready for a while.
	canKill bool
	// succeeded returns an error if an attack of the instances has succeeded; nil: there was none.
	succeeded func() error
}

func (r *RealInstances) podFault(point string) (*podFault, error) {
	if point == late {
		return &podFault{begin: func(p *caseRun) { r.Containers.Delay(p.namespace, lateness) }, reached: func() bool { return true }}, nil
	}
	i := strings.LastIndex(point, "-")
	if i < 0 {
		return nil, fmt.Errorf("unknown fault %s", point)
	}
	name, how := point[:i], point[i+1:]
	if slices.Contains(processFaults, name) && slices.Contains([]string{anyRequest, beforeLoad, afterLoad}, how) {
		s := &processFault{real: r, fault: name, moment: how}
		return &podFault{handler: s.handler, begin: s.begin, reached: s.struck.Load, canKill: slices.Contains(restarting, name)}, nil
	}
	b, err := r.newDisturbedContainers(point)
	if err != nil {
		return nil, err
	}
	return &podFault{handler: b.handler, begin: func(*caseRun) { b.begun.Store(true) }, reached: b.happened.Load, succeeded: b.attacker.succeeded}, nil
}

// processFault strikes the first pod at a moment.
type processFault struct {
	real          *RealInstances
	fault, moment string

	runCase atomic.Pointer[caseRun]
	struck  atomic.Bool
}

func (s *processFault) begin(p *caseRun) { s.runCase.Store(p) }

// handler wraps the instance of a pod.
func (s *processFault) handler(pod string, answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.runCase.Load() != nil && (s.moment == anyRequest || ordersLoad(r))
		if !now || !s.struck.CompareAndSwap(false, true) {
			answer.ServeHTTP(w, r)
			return
		}
		if s.moment == afterLoad {
			// The instance has the request, and is about to act on it.
			defer s.strike(pod)
		} else {
			s.strike(pod)
		}
		answer.ServeHTTP(w, r)
	})
}

// strike strikes the pod. If there is nothing to strike yet, the next request is used instead.
func (s *processFault) strike(pod string) {
	p := s.runCase.Load()
	if s.fault == operatorKilled {
		p.client.OnKill()
	} else if s.real.Containers.Strike(p.namespace, pod, s.fault) != nil {
		s.struck.Store(false)
	}
}

// run runs a journey with real pods under a fault.
func (r *RealInstances) run(ctx context.Context, j *journey.Journey, h *podFault) (reached bool, err error) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	g, err := r.golden(ctx, j)
	if err != nil {
		return false, err
	}
	p, err := r.newWrappedRun(ctx, j, func(string) wrapper { return h.handler })
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	p.canKill = h.canKill
	h.begin(p)
	err = p.perform(ctx)
	if err == nil {
		err = p.ends(ctx, g.Golden, begin)
	}
	if err == nil {
		err = r.served(ctx, p, g)
	}
	if err == nil && h.succeeded != nil {
		err = h.succeeded()
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return h.reached(), err
}

// served checks that no request of a client was lost without a reason, and that the pods respond at
// the end as in an undisturbed run.
func (r *RealInstances) served(ctx context.Context, p *caseRun, g *realGolden) error {
	if n := r.Containers.Fewest(p.namespace); n < p.journey.Keeps-1 {
		return fmt.Errorf("only %d pods were ready for a while, but at most one fewer than %d is allowed", n, p.journey.Keeps)
	}
	n, lost := r.Containers.Traffic(p.namespace)
	if lost != nil {
		return lost
	}
	if n == 0 && p.journey.Keeps > 0 {
		return fmt.Errorf("no pod has received a request")
	}
	return r.answer(ctx, p, g)
}

// answer checks that the pods respond as the journey says.
func (r *RealInstances) answer(ctx context.Context, p *caseRun, g *realGolden) error {
	answers, err := r.Containers.Answers(ctx, p.namespace)
	if err != nil {
		return err
	}
	if !slices.Equal(answers, g.answers) {
		return fmt.Errorf("the pods answer %q, but %q in an undisturbed run", answers, g.answers)
	}
	text := cmp.Or(p.journey.Answers, p.journey.Serves)
	wrong := func(answer string) bool { return !strings.Contains(answer, text) }
	if text != "" && (len(answers) == 0 || slices.ContainsFunc(answers, wrong)) {
		return fmt.Errorf("the pods answer %q, not %q", answers, text)
	}
	return nil
}

// realGolden is the undisturbed run of a journey with real pods.
type realGolden struct {
	*Golden
	answers []string

	once sync.Once
	err  error
}

// golden runs a journey undisturbed when the first case needs it.
func (r *RealInstances) golden(ctx context.Context, j *journey.Journey) (*realGolden, error) {
	r.mu.Lock()
	g := r.goldens[j.Name]
	if g == nil {
		g = &realGolden{}
		r.goldens[j.Name] = g
	}
	r.mu.Unlock()
	g.once.Do(func() { g.err = g.learn(ctx, r, j) })
	return g, g.err
}

func (g *realGolden) learn(ctx context.Context, r *RealInstances, j *journey.Journey) (err error) {
	first := true
	g.Golden, err = r.goldenOf(ctx, j, func(p *caseRun) error {
		if first {
			first = false
			var err error
			if g.answers, err = r.Containers.Answers(ctx, p.namespace); err != nil {
				return err
			}
		}
		return r.served(ctx, p, g)
	})
	if err != nil {
		return fmt.Errorf("real: %w", err)
	}
	g.Mask.Means, err = regexp.Compile(r.Means.String() + "|" + realMeans)
	return err
}
