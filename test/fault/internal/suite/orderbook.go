package suite

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/internal/tee"
)

// wrapper wraps the handlers of pods.
type wrapper func(pod string, answer http.Handler) http.Handler

// orderBook records the orders that an operator sends to the pods of a run, as an observer between
// them, and checks each against what its pod has reported before.
type orderBook struct {
	// kill kills the operator.
	kill func()

	mu sync.Mutex
	// onOrder decides what happens to the n-th order, counted from 1; nil: all are passed on.
	onOrder func(n int) proxy.Fault
	pods    map[string]*orderedPod
	total   int
	// broken describes the first order that no operator must send. early describes the first one that
	// was sent while an earlier one was in flight, which only several operators may do.
	broken, early string
}

// orderedPod is what is known of a pod.
type orderedPod struct {
	sent, inFlight int
	// answer is its instance.
	answer http.Handler
	// reported is the status that the pod has last reported to an operator; nil: none.
	reported *instanceapi.Status
}

func newOrderBook(kill func()) *orderBook {
	return &orderBook{kill: kill, pods: map[string]*orderedPod{}}
}

// expect starts to count.
func (b *orderBook) expect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = 0
	for _, pod := range b.pods {
		pod.sent = 0
	}
}

// disturb sets the hook; nil: all orders are passed on.
func (b *orderBook) disturb(onOrder func(n int) proxy.Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onOrder = onOrder
}

// counts returns the number of orders, and the maximum for one pod.
func (b *orderBook) counts() (total, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pod := range b.pods {
		most = max(most, pod.sent)
	}
	return b.total, most
}

// check returns an error if an order was sent that must not be sent, or if a pod got many more orders
// than in an undisturbed run: an operator must not order again and again.
func (b *orderBook) check(undisturbed int) error {
	_, most := b.counts()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != "" {
		return errors.New(b.broken)
	}
	if most > 4*undisturbed+10 {
		return fmt.Errorf("a pod got %d orders, but only %d in an undisturbed run", most, undisturbed)
	}
	return nil
}

// single returns an error if a pod got an order before it had answered the last one. It does not hold
// with several operators, or after one was killed.
func (b *orderBook) single() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early != "" {
		return errors.New(b.early)
	}
	return nil
}

// wrap returns a wrapper that observes all requests, before with gets them; nil: there is none.
func (b *orderBook) wrap(with wrapper) wrapper {
	return func(pod string, answer http.Handler) http.Handler {
		b.finds(pod, answer)
		if with != nil {
			answer = with(pod, answer)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, pod, answer) })
	}
}

// finds records the instance of a pod.
func (b *orderBook) finds(pod string, answer http.Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(pod).answer = answer
}

func (b *orderBook) serve(w http.ResponseWriter, r *http.Request, pod string, answer http.Handler) {
	if r.Method == http.MethodPost && r.URL.Path == instanceapi.PathOrders {
		fault := b.begin(r, pod)
		defer b.end(pod)
		answer = b.met(fault, answer)
	}
	copied := tee.New(w)
	answer.ServeHTTP(copied, r)
	b.record(r, pod, copied)
}

// met returns a handler that meets a fault instead.
func (b *orderBook) met(fault proxy.Fault, answer http.Handler) http.Handler {
	if fault == proxy.None {
		return answer
	}
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if fault == proxy.Drop || fault == proxy.KillAfter {
			answer.ServeHTTP(httptest.NewRecorder(), r)
		}
		if fault.Kills() {
			b.kill()
		}
		panic(http.ErrAbortHandler)
	})
}

// begin records an order.
func (b *orderBook) begin(r *http.Request, pod string) proxy.Fault {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.pod(pod)
	if wrong := known.wrong(r.Header, body); wrong != "" && b.broken == "" {
		b.broken = fmt.Sprintf("pod %s got an order %s", pod, wrong)
	}
	if known.inFlight > 0 && b.early == "" {
		b.early = fmt.Sprintf("pod %s got an order before it had answered the last one", pod)
	}
	known.inFlight++
	known.sent++
	b.total++
	if b.onOrder == nil {
		return proxy.None
	}
	return b.onOrder(b.total)
}

func (b *orderBook) end(pod string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(pod).inFlight--
}

// record remembers the status that a pod has reported.
func (b *orderBook) record(r *http.Request, pod string, copied *tee.Writer) {
	status := &instanceapi.Status{}
	if r.Context().Err() != nil || copied.Code != http.StatusOK || json.Unmarshal(copied.Body.Bytes(), status) != nil || status.Protocol != instanceapi.Protocol {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pod(pod).reported = status
}

// pod returns what is known of a pod. The caller holds b.mu.
func (b *orderBook) pod(name string) *orderedPod {
	if b.pods[name] == nil {
		b.pods[name] = &orderedPod{}
	}
	return b.pods[name]
}

// wrong returns why an order must not be sent to a pod that has reported what it has; empty: it may.
func (p *orderedPod) wrong(header http.Header, body []byte) string {
	order, err := readOrder(header)
	switch {
	case err != nil:
		return err.Error()
	case p.reported == nil || p.reported.Orders == nil:
		return "although it has not reported that it takes any"
	}
	if id, _, _ := strings.Cut(header.Get(instanceapi.HeaderSignature), "."); !slices.Contains(p.reported.Orders.Keys, id) {
		return fmt.Sprintf("signed with the key %s, and knows only %v", id, p.reported.Orders.Keys)
	}
	available := slices.Concat(p.reported.Available, []string{"", p.reported.Requested.Test, p.reported.Requested.Load})
	if order.Body != nil {
		contents, err := instanceapi.DecodeContents(body)
		if err != nil {
			return err.Error()
		}
		for revision := range contents {
			available = append(available, revision)
		}
	}
	for _, revision := range []string{order.Requested.Test, order.Requested.Load} {
		if !slices.Contains(available, revision) {
			return fmt.Sprintf("about configuration %s, whose files it does not have", revision)
		}
	}
	return ""
}

// readOrder reads the order in a request, as everybody on the network can.
func readOrder(header http.Header) (order instanceapi.Order, err error) {
	text, err := base64.StdEncoding.DecodeString(header.Get(instanceapi.HeaderOrder))
	if err == nil {
		err = json.Unmarshal(text, &order)
	}
	return order, err
}

// ordersLoad reports whether a request orders a pod to load a configuration.
func ordersLoad(r *http.Request) bool {
	order, err := readOrder(r.Header)
	return err == nil && order.Requested.Load != ""
}
