package campaign

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

// Real is where cases are played with the real instance manager and real nginx, in containers.
type Real struct {
	*Stage
	Containers Containers
	// places are taken by the journeys that are played: real pods cost more than stand-ins.
	places chan struct{}

	mu      sync.Mutex
	goldens map[string]*realGolden
}

// know takes the journeys that there are.
func (r *Real) know(journeys []*journey.Journey) {
	r.journeys = map[string]*journey.Journey{}
	for _, j := range journeys {
		r.journeys[j.Name] = j
	}
}

// Containers is what runs real pods.
type Containers interface {
	Pods
	// Delay lets what the pods of a namespace mount change later than it has to, from now on.
	Delay(namespace string, late time.Duration)
	// Strike does something to the processes of a pod: it is killed, for instance.
	Strike(namespace, pod, blow string) error
	// Traffic tells how often clients have asked the pods of a namespace, and what was lost that
	// nobody had struck. Answers are those of its pods.
	Traffic(namespace string) (asked int, lost error)
	Answers(ctx context.Context, namespace string) ([]string, error)
}

// NewReal has real pods on a stage of their own, in the journeys of so many namespaces at a time.
func NewReal(s *Stage, c Containers, parallel int) *Real {
	s.Pods, s.Prefix, s.room = c, RealPrefix, 0
	return &Real{Stage: s, Containers: c, places: make(chan struct{}, parallel), goldens: map[string]*realGolden{}}
}

// RealPrefix is what the names of the namespaces begin with that real pods run in.
const RealPrefix = "real"

// realMeans are the fields that tell of a death that there was not in the golden run, and of a word to
// the kubelet that it has brought a pod too little.
const realMeans = `^Pod/[^.]*\.status\.containerStatuses\[\d+\]\.(restartCount|lastState.*)$|^NginxOperator/[^.]*\.status\.restarts$` +
	`|^Pod/[^.]*\.metadata\.annotations\.operator\.example\.com/sync$`

const (
	// late is how much later than they could volumes change.
	late = "volumes-late"
	// lateness is how much that is.
	lateness = 3 * time.Second
)

// Moments at which processes are struck: a question, and the word at which a configuration is
// loaded, before it is heard and after that.
const (
	atQuestion = "asked"
	told       = "told"
	loading    = "loading"
)

// proxied are the misbehaviours that real instances can be made to show.
var proxied = []string{"slow", "hangs", "hangs-up", "garbage", "half", "old-protocol", "serves-another", "forgetful"}

// operatorKilled is the blow that hits the operator, and not the pod that it asks.
const operatorKilled = "operator-killed"

// blows are what can be done to processes.
var blows = []string{"killed", "master-killed", "worker-killed", "stopped", operatorKilled}

// deadly are those of them after which a pod is not ready for a while.
var deadly = []string{"killed", "master-killed"}

// RealCases have real instances misbehave, or somebody do them harm.
func RealCases(j *journey.Journey) []Case {
	if !j.Real {
		return nil
	}
	all := []Case{realCase(j.Name, late)}
	for _, name := range proxied {
		all = append(all, realCase(j.Name, name+"-all"), realCase(j.Name, name+"-one"))
	}
	for _, blow := range blows {
		for _, moment := range []string{atQuestion, told, loading} {
			all = append(all, realCase(j.Name, blow+"-"+moment))
		}
	}
	return all
}

func realCase(name, point string) Case {
	c := Case{Kind: realKind, Journey: name, Point: point}
	c.run = func(ctx context.Context, s *Stage, _ *Golden) (bool, error) {
		switch {
		case s.Real == nil:
			return false, fmt.Errorf("there are no real instances: --images tells where the images of nginx are")
		case s.Real.journeys[name] == nil || !s.Real.journeys[name].Real:
			return false, fmt.Errorf("journey %s is not one for real instances", name)
		}
		d, err := s.Real.harm(point)
		if err != nil {
			return false, err
		}
		return s.Real.play(ctx, s.Real.journeys[name], d)
	}
	return c
}

// harm is what is done to the pods of a play.
type harm struct {
	// handler stands before their instances; nil: nothing does. begin lets it come over them.
	handler func(pod string, answer http.Handler) http.Handler
	begin   func(*play)
	// reached tells whether it has.
	reached func() bool
	// mortal: a pod may not be ready for a while.
	mortal bool
}

func (r *Real) harm(point string) (*harm, error) {
	if point == late {
		return &harm{begin: func(p *play) { r.Containers.Delay(p.namespace, lateness) }, reached: func() bool { return true }}, nil
	}
	i := strings.LastIndex(point, "-")
	if i < 0 {
		return nil, fmt.Errorf("nobody knows what %s is", point)
	}
	name, how := point[:i], point[i+1:]
	if slices.Contains(blows, name) && slices.Contains([]string{atQuestion, told, loading}, how) {
		s := &striker{real: r, blow: name, moment: how}
		return &harm{handler: s.handler, begin: s.begin, reached: s.struck.Load, mortal: slices.Contains(deadly, name)}, nil
	}
	b, err := r.newBewitched(point)
	if err != nil {
		return nil, err
	}
	return &harm{handler: b.handler, begin: func(*play) { b.begun.Store(true) }, reached: b.happened.Load}, nil
}

// striker strikes the first pod that a moment comes for.
type striker struct {
	real         *Real
	blow, moment string

	play   atomic.Pointer[play]
	struck atomic.Bool
}

func (s *striker) begin(p *play) { s.play.Store(p) }

// handler stands before the instance of a pod.
func (s *striker) handler(pod string, answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.play.Load() != nil && (s.moment == atQuestion || r.Method == http.MethodPost)
		if !now || !s.struck.CompareAndSwap(false, true) {
			answer.ServeHTTP(w, r)
			return
		}
		if s.moment == loading {
			// It has heard the word, and is about to do what it says.
			defer s.strike(pod)
		} else {
			s.strike(pod)
		}
		answer.ServeHTTP(w, r)
	})
}

// strike strikes, unless there is nothing yet that could be struck: then the next one is.
func (s *striker) strike(pod string) {
	p := s.play.Load()
	if s.blow == operatorKilled {
		p.guest.OnKill()
	} else if s.real.Containers.Strike(p.namespace, pod, s.blow) != nil {
		s.struck.Store(false)
	}
}

// play plays a journey with real pods to which harm is done.
func (r *Real) play(ctx context.Context, j *journey.Journey, h *harm) (reached bool, err error) {
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
	p, err := r.newPlay(ctx, j, func(namespace string) {
		if h.handler != nil {
			r.Containers.Disturb(namespace, h.handler)
		}
	})
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	p.mortal = h.mortal
	h.begin(p)
	err = p.perform(ctx)
	if err == nil {
		err = p.ends(ctx, g.Golden, begin)
	}
	if err == nil {
		err = r.served(ctx, p, g)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return h.reached(), err
}

// served makes sure that nothing was lost that clients could count on, and that the pods answer in
// the end what they answer undisturbed.
func (r *Real) served(ctx context.Context, p *play, g *realGolden) error {
	if n := r.Containers.Fewest(p.namespace); n < p.journey.Keeps-1 {
		return fmt.Errorf("%d pods were ready for a while, one less than %d may be", n, p.journey.Keeps)
	}
	n, lost := r.Containers.Traffic(p.namespace)
	if lost != nil {
		return lost
	}
	if n == 0 && p.journey.Keeps > 0 {
		return fmt.Errorf("nobody has asked any pod")
	}
	return r.answer(ctx, p, g)
}

// answer makes sure that the pods answer what the journey tells.
func (r *Real) answer(ctx context.Context, p *play, g *realGolden) error {
	answers, err := r.Containers.Answers(ctx, p.namespace)
	if err != nil {
		return err
	}
	if !slices.Equal(answers, g.answers) {
		return fmt.Errorf("the pods answer %q, and %q in an undisturbed run", answers, g.answers)
	}
	words := cmp.Or(p.journey.Answers, p.journey.Serves)
	wrong := func(answer string) bool { return !strings.Contains(answer, words) }
	if words != "" && (len(answers) == 0 || slices.ContainsFunc(answers, wrong)) {
		return fmt.Errorf("the pods answer %q, and not %q", answers, words)
	}
	return nil
}

// realGolden is what a journey is with real pods, undisturbed.
type realGolden struct {
	*Golden
	answers []string

	once sync.Once
	err  error
}

// golden plays a journey twice without disturbing it, for the first case that needs it.
func (r *Real) golden(ctx context.Context, j *journey.Journey) (*realGolden, error) {
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

func (g *realGolden) learn(ctx context.Context, r *Real, j *journey.Journey) (err error) {
	first := true
	g.Golden, err = r.goldenOf(ctx, j, func(p *play) error {
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
