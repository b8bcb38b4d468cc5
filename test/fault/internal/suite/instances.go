package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clientFault is what an instance does instead of a normal response.
type clientFault func(w http.ResponseWriter, r *http.Request, answer http.Handler)

// faultyRequests is the number of requests that get the fault: enough to be noticed, but not too
// many to wait for.
const faultyRequests = 6

// containerFaults are exceptions to containerFault: the operator retries an instance that refuses a
// configuration only after ten seconds, and waits for the answer to an order for six.
var containerFaults = map[string]int64{"refuses": 3, "hangs-on-orders": 3}

// clientFaults are the faults by name.
var clientFaults = map[string]clientFault{
	"slow": func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		if pause(r.Context(), 500*time.Millisecond) == nil {
			answer.ServeHTTP(w, r)
		}
	},
	"hangs": func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		// The server notices that the client is gone only after the request's body was read.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	},
	"hangs-up": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	"unavailable": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"unknown": func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) },
	"redirects": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	},
	"empty":   func(http.ResponseWriter, *http.Request, http.Handler) {},
	"garbage": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = w.Write([]byte("<html>hello")) }, // the client may be gone
	"endless": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for text := []byte(strings.Repeat(" ", 1<<16)); ; {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	},
	"half":           half,
	"old-protocol":   foreign(0),
	"new-protocol":   foreign(99),
	"refuses":        refuses,
	"serves-another": said(map[string]any{"serving": "0000000000000000"}),
	"serves-nothing": said(map[string]any{"serving": "", "ready": false, "notReady": "it starts"}),
	"forgetful":      said(map[string]any{"revisions": nil}),
	"sees-no-files":  said(map[string]any{"stable": "", "next": "", "available": nil}),
	"not-requested":  said(map[string]any{"requested": map[string]any{}}),
}

// half breaks off the response in the middle.
func half(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	recorded := httptest.NewRecorder()
	answer.ServeHTTP(recorded, r)
	_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2]) // the client may be gone
	panic(http.ErrAbortHandler)
}

// said responds with other values of some fields.
func said(fields map[string]any) clientFault {
	return changed(func(status map[string]any) { maps.Copy(status, fields) })
}

// foreign responds in another protocol, in which the same fields mean something else: the instance
// seems to serve what it should test.
func foreign(protocol int) clientFault {
	return changed(func(status map[string]any) {
		status["protocol"] = protocol
		if revision := requestedTest(status); revision != "" {
			status["serving"] = revision
		}
	})
}

// refuses reports that the requested configuration failed its test, for example because a name does
// not resolve for a moment.
var refuses = changed(func(status map[string]any) {
	if revision := requestedTest(status); revision != "" && revision != status["serving"] {
		status["revisions"] = []any{map[string]any{
			"revision": revision, "test": "Failed", "problems": []any{map[string]any{"message": "host not found in upstream"}},
		}}
	}
})

// requestedTest returns the revision that the instance should test.
func requestedTest(status map[string]any) string {
	requested, _ := status["requested"].(map[string]any)
	revision, _ := requested["test"].(string)
	return revision
}

// changed responds with a changed status.
func changed(change func(status map[string]any)) clientFault {
	return func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		recorded := httptest.NewRecorder()
		answer.ServeHTTP(recorded, r)
		status := map[string]any{}
		if json.Unmarshal(recorded.Body.Bytes(), &status) != nil {
			// The request was not for the status.
			w.WriteHeader(recorded.Code)
			return
		}
		change(status)
		_ = json.NewEncoder(w).Encode(status) // the client may be gone
	}
}

// dies is the name of the case that deletes a pod when the operator requests the load of what the
// pod has tested.
const dies = "dies"

// moments is the number of cases in which one instance hangs only after some normal responses, so
// that the operator already knows its status.
const moments = 10

// whos are the sets of instances with the fault: all, the first one that gets a request, or the
// others than the first one that gets a POST.
var whos = []string{"all", "one", "others"}

// InstanceCases returns the cases in which instances of a journey misbehave.
func InstanceCases(journey string) []Case {
	var all []Case
	for n := range moments {
		all = append(all, instanceCase(journey, fmt.Sprintf("hangs-one@%d", n+1)))
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(clientFaults)), slices.Sorted(maps.Keys(orderFaults)), slices.Sorted(maps.Keys(attacks)), []string{dies}) {
		for _, who := range whos {
			all = append(all, instanceCase(journey, name+"-"+who))
		}
	}
	return all
}

func instanceCase(journey, point string) Case {
	c := Case{Kind: "instance", Journey: journey, Point: point}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		b, err := s.newDisturbedContainers(point)
		if err != nil {
			return false, err
		}
		return s.runDisturbed(ctx, c, g, b)
	}
	return c
}

// newDisturbedContainers parses the point of a case: name-all, name-one or name-others, each
// optionally with @ and the number of requests that get normal responses first.
func (s *Stage) newDisturbedContainers(point string) (*disturbedContainers, error) {
	what, moment, late := strings.Cut(point, "@")
	i := strings.LastIndex(what, "-")
	if i < 0 || !slices.Contains(whos, what[i+1:]) {
		return nil, fmt.Errorf("%q does not name the instances: it must end with one of %v", point, whos)
	}
	b := &disturbedContainers{stage: s, does: clientFaults[what[:i]], who: what[i+1:], fault: cmp.Or(containerFaults[what[:i]], faultyRequests)}
	b.attacker.pods = map[string]http.Handler{}
	switch name := what[:i]; {
	case name == dies:
		b.does, b.postOnly, b.loadOnly = b.die, true, true
	case orderFaults[name] != nil:
		b.does, b.postOnly = orderFaults[name], true
	case attacks[name] != nil:
		b.does, b.postOnly = b.attacked(attacks[name]), true
	}
	var err error
	if late {
		b.after, err = strconv.ParseInt(moment, 10, 64)
	}
	if b.does == nil || err != nil {
		return nil, fmt.Errorf("unknown fault of an instance: %s", point)
	}
	return b, nil
}

// disturbedContainers are the instances of a run, which misbehave for a number of requests once
// begun is set.
type disturbedContainers struct {
	stage *Stage
	does  clientFault
	// who is one of whos. postOnly: queries get no fault, and loadOnly: orders to test get none either.
	who                string
	postOnly, loadOnly bool
	// The faults start after so many requests, and hit the next fault ones.
	after, fault int64

	namespace string
	begun     atomic.Bool
	first     atomic.Pointer[string]
	requests  atomic.Int64
	// under counts the requests that get a fault at this moment.
	under atomic.Int64
	// happened reports whether a request got a fault.
	happened atomic.Bool
	attacker attacker
}

// handler wraps the instance of a pod.
func (b *disturbedContainers) handler(pod string, answer http.Handler) http.Handler {
	b.attacker.finds(pod, answer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.begun.Load() || !b.concerns(pod, r) {
			answer.ServeHTTP(w, r)
			return
		}
		if n := b.requests.Add(1); n <= b.after || n > b.after+b.fault {
			answer.ServeHTTP(w, r)
			return
		}
		b.happened.Store(true)
		b.under.Add(1)
		defer b.under.Add(-1)
		b.does(w, r.WithContext(context.WithValue(r.Context(), podKey{}, pod)), answer)
	})
}

// concerns reports whether a request to a pod gets a fault.
func (b *disturbedContainers) concerns(pod string, r *http.Request) bool {
	if b.postOnly && r.Method == http.MethodGet || b.loadOnly && !ordersLoad(r) {
		return false
	}
	switch b.who {
	case "one":
		return b.first.CompareAndSwap(nil, &pod) || *b.first.Load() == pod
	case "others":
		if r.Method == http.MethodPost {
			b.first.CompareAndSwap(nil, &pod)
		}
		first := b.first.Load()
		return first != nil && *first != pod
	}
	return true
}

type podKey struct{}

// die deletes the pod that gets the request.
func (b *disturbedContainers) die(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	pods, err := b.stage.resource(b.namespace, "Pod", "v1")
	if pod, ok := r.Context().Value(podKey{}).(string); ok && err == nil {
		_ = pods.Delete(context.WithoutCancel(r.Context()), pod, metav1.DeleteOptions{}) // the pod is gone already
	}
	panic(http.ErrAbortHandler)
}

func (s *Stage) runDisturbed(ctx context.Context, c Case, g *Golden, b *disturbedContainers) (reached bool, err error) {
	p, err := s.newWrappedRun(ctx, s.journeys[c.Journey], func(namespace string) wrapper {
		b.namespace = namespace
		return b.handler
	})
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	p.canKill = strings.HasPrefix(c.Point, dies)
	b.begun.Store(true)
	if err = p.perform(ctx); err == nil {
		err = p.settle(ctx)
	}
	// If no instance got a request yet, the faults would otherwise start when nothing should be
	// written any more.
	b.begun.Store(false)
	if err == nil {
		err = b.over(ctx, p)
	}
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err == nil {
		err = errors.Join(p.orders.single(), b.attacker.succeeded())
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return b.happened.Load(), err
}

// over waits until no request hangs any more, because the operator would write that it got no
// response.
func (b *disturbedContainers) over(ctx context.Context, p *caseRun) error {
	err := p.await(ctx, func(context.Context) error {
		if n := b.under.Load(); n > 0 {
			return fmt.Errorf("%d requests are still unanswered", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.settle(ctx)
}
