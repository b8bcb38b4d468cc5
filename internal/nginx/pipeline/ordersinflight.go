package pipeline

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/revision"
)

// Bounds of the orders in flight. Orders beyond them are sent with a later pass (requeueBackoff). A namespace gets another one
// only while it has less than namespaceFactor times what is free, of all orders, of retries and of bytes: so one namespace has
// at most two thirds, and room remains for any other (see package workers).
const (
	// parallelOrders bounds them for all applications, and applicationOrders for one, so that an application whose pods do
	// not answer leaves room for others.
	parallelOrders    = 256
	applicationOrders = 100
	// parallelRetries and applicationRetries bound those to pods that did not carry out their last order. Such an order
	// may take seconds to fail, and they never delay others for long.
	parallelRetries    = 128
	applicationRetries = 50
	// maxOrderBytes bounds the memory for their bodies, of which each has at most instanceapi.MaxBody.
	maxOrderBytes = 64 << 20

	namespaceFactor = 2
)

var (
	errTooManyOrders = errors.New("too many orders are in flight")
	errOrderInFlight = errors.New("the pod has not answered its last order yet")
)

// orders are the orders in flight. A pod gets one at a time.
type orders struct {
	mu           sync.Mutex
	applications map[types.NamespacedName]*inFlight
	// all counts them, and namespaces those of each namespace.
	all        usage
	namespaces map[string]usage
}

// usage counts orders, those that are retries, and the bytes of their bodies.
type usage struct{ orders, retries, bytes int }

func (u usage) plus(v usage, sign int) usage {
	return usage{u.orders + sign*v.orders, u.retries + sign*v.retries, u.bytes + sign*v.bytes}
}

// inFlight are the orders of an application that are in flight.
type inFlight struct {
	// pods are the orders that have not been answered yet, by the UID of the pod.
	pods    map[string]sentOrder
	retries int
	// bodies are the bodies of these orders, by the revisions that they hold. Most orders have the same.
	bodies map[string]*orderBody
	// answered reports whether a pod has answered meanwhile.
	answered bool
}

type sentOrder struct {
	// retry reports whether the pod did not carry out its last order.
	retry bool
	// body is the key of bodies.
	body string
}

type orderBody struct {
	bytes []byte
	// orders counts those that have it.
	orders int
}

// begin begins an order, and returns its body. The error is errOrderInFlight or errTooManyOrders if the order may not be
// sent yet.
func (o *orders) begin(key types.NamespacedName, order *revision.Order) ([]byte, error) {
	uid := order.Receiver.PodUID
	id := strings.Join(slices.Sorted(maps.Keys(order.Contents)), " ")
	sent := sentOrder{retry: !order.LastFailure.IsZero(), body: id}
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.applications[key]
	if a == nil {
		a = &inFlight{pods: map[string]sentOrder{}, bodies: map[string]*orderBody{}}
	}
	if _, ok := a.pods[uid]; ok {
		return nil, errOrderInFlight
	}
	if !o.admits(key.Namespace, a, sent) {
		return nil, errTooManyOrders
	}
	body := a.bodies[id]
	if body == nil {
		var err error
		if body, err = o.encode(key.Namespace, order.Contents); err != nil {
			return nil, err
		}
		a.bodies[id] = body
	}
	if o.applications == nil {
		o.applications, o.namespaces = map[types.NamespacedName]*inFlight{}, map[string]usage{}
	}
	o.applications[key], a.pods[uid] = a, sent
	o.count(key.Namespace, a, sent, 1)
	return body.bytes, nil
}

// admits reports whether the bounds allow another order of an application.
func (o *orders) admits(namespace string, a *inFlight, sent sentOrder) bool {
	of := o.namespaces[namespace]
	switch {
	case of.orders >= namespaceFactor*(parallelOrders-o.all.orders) || len(a.pods) >= applicationOrders:
		return false
	case sent.retry:
		return of.retries < namespaceFactor*(parallelRetries-o.all.retries) && a.retries < applicationRetries
	}
	return true
}

// encode encodes the body of an order, unless there are too many bytes already.
func (o *orders) encode(namespace string, contents instanceapi.Contents) (*orderBody, error) {
	if len(contents) == 0 {
		return &orderBody{}, nil
	}
	// Encoding takes time, and each pass would try again.
	if o.namespaces[namespace].bytes >= namespaceFactor*(maxOrderBytes-o.all.bytes) {
		return nil, errTooManyOrders
	}
	encoded, err := instanceapi.EncodeContents(contents)
	if err == nil && o.all.bytes+len(encoded) > maxOrderBytes {
		err = errTooManyOrders
	}
	return &orderBody{bytes: encoded}, err
}

// count adds an order to the counts, or removes it with -1. A body that no order has any more is dropped.
func (o *orders) count(namespace string, a *inFlight, sent sentOrder, sign int) {
	change := usage{orders: 1}
	body := a.bodies[sent.body]
	if last := body.orders + sign; body.orders == 0 || last == 0 {
		change.bytes = len(body.bytes)
	}
	if body.orders += sign; body.orders == 0 {
		delete(a.bodies, sent.body)
	}
	if sent.retry {
		change.retries = 1
		a.retries += sign
	}
	o.all = o.all.plus(change, sign)
	if o.namespaces[namespace] = o.namespaces[namespace].plus(change, sign); o.namespaces[namespace] == (usage{}) {
		delete(o.namespaces, namespace)
	}
}

// end ends an order, with an answer or without. It reports whether there is news: a pod has answered, and no order is
// in flight any more.
func (o *orders) end(key types.NamespacedName, podUID string, answered bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.applications[key]
	o.count(key.Namespace, a, a.pods[podUID], -1)
	delete(a.pods, podUID)
	a.answered = a.answered || answered
	if len(a.pods) > 0 {
		return false
	}
	delete(o.applications, key)
	return a.answered
}

// inFlight reports whether an application has orders in flight.
func (o *orders) inFlight(key types.NamespacedName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.applications[key] != nil
}
