package controller

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// parallelOrders bounds how many orders are in flight at the same time, for all applications. The others follow with
// later passes.
const parallelOrders = 256

// KeyRing holds the operator's private keys.
type KeyRing interface {
	// Keys returns them, the newest first; empty while they are unknown.
	Keys() []ed25519.PrivateKey
	// OnChange sets the function that is called when there are other keys.
	OnChange(changed func())
}

// orders are the orders in flight. A pod gets one at a time.
type orders struct {
	mu           sync.Mutex
	applications map[types.NamespacedName]*inFlight
	total        int
}

// inFlight are the orders of an application that are in flight.
type inFlight struct {
	// pods are the UIDs of the pods that have not answered yet.
	pods map[string]bool
	// answered reports whether a pod has answered meanwhile.
	answered bool
}

// begin reports whether an order may be sent: the pod has answered the last one, and not too many others are in flight.
func (o *orders) begin(key types.NamespacedName, podUID string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.applications[key]
	if a != nil && a.pods[podUID] || o.total >= parallelOrders {
		return false
	}
	if o.applications == nil {
		o.applications = map[types.NamespacedName]*inFlight{}
	}
	if a == nil {
		a = &inFlight{pods: map[string]bool{}}
		o.applications[key] = a
	}
	a.pods[podUID] = true
	o.total++
	return true
}

// end ends an order, with an answer or without. It reports whether there is news: a pod has answered, and no order is
// in flight any more.
func (o *orders) end(key types.NamespacedName, podUID string, answered bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.applications[key]
	delete(a.pods, podUID)
	a.answered = a.answered || answered
	o.total--
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

// publicKeys returns the public keys of the operator, the newest first.
func (r *Reconciler) publicKeys() []instanceapi.PublicKey {
	var keys []instanceapi.PublicKey
	for _, key := range r.Keys.Keys() {
		if public, ok := key.Public().(ed25519.PublicKey); ok {
			keys = append(keys, instanceapi.NewPublicKey(public))
		}
	}
	return keys
}

// sendOrders sends orders in the background. The answers become what is known of the instances, and the last one queues
// the application again. No pass waits for a pod.
func (r *Reconciler) sendOrders(ctx context.Context, key types.NamespacedName, all []revision.Order) error {
	keys, bodies := r.Keys.Keys(), map[string][]byte{}
	for i := range all {
		order := &all[i]
		signer := signerFor(order.Receiver, keys)
		if signer == nil {
			// It counts as unreachable until the kubelet delivers a key.
			why := observe.OrderFailure(instanceapi.UnknownKey)
			if len(keys) == 0 {
				why = observe.OrderUnsigned
			}
			r.Observer.Unanswered(key, types.UID(order.Receiver.PodUID), 0, why)
			log.FromContext(ctx).Info("a pod gets no order, because it knows none of the operator's public keys", "pod", order.Pod, "keys", len(keys))
			continue
		}
		if !r.orders.begin(key, order.Receiver.PodUID) {
			continue
		}
		request := order.Receiver.Next(order.Requested, r.Clock.Now())
		signed, err := sign(order, request, signer, bodies)
		if err != nil {
			r.orders.end(key, order.Receiver.PodUID, false)
			return err
		}
		go r.sendOrder(context.WithoutCancel(ctx), key, order, request.Number, signed)
	}
	return nil
}

// sign signs an order. bodies are the bodies of this pass's orders so far: most orders have the same.
func sign(order *revision.Order, request instanceapi.Order, signer ed25519.PrivateKey, bodies map[string][]byte) (instanceapi.SignedOrder, error) {
	var body []byte
	if len(order.Contents) > 0 {
		var revisions []string
		for revision := range order.Contents {
			revisions = append(revisions, revision)
		}
		slices.Sort(revisions)
		id := strings.Join(revisions, " ")
		if bodies[id] == nil {
			encoded, err := instanceapi.EncodeContents(order.Contents)
			if err != nil {
				return instanceapi.SignedOrder{}, err
			}
			bodies[id] = encoded
		}
		body = bodies[id]
	}
	return instanceapi.Sign(signer, request, body)
}

// signerFor returns the newest key that an instance knows; nil if it knows none.
func signerFor(receiver instanceapi.Orders, keys []ed25519.PrivateKey) ed25519.PrivateKey {
	for _, key := range keys {
		if public, ok := key.Public().(ed25519.PublicKey); ok && slices.Contains(receiver.Keys, instanceapi.KeyID(public)) {
			return key
		}
	}
	return nil
}

var errIgnored = errors.New("it answered, and its status does not show the order")

// orderFailure returns why a pod did not carry out an order.
func orderFailure(err error) observe.OrderFailure {
	refused := &instanceapi.RefusedError{}
	switch {
	case errors.As(err, &refused):
		return observe.OrderFailure(refused.Refusal)
	case errors.Is(err, errIgnored):
		return observe.OrderIgnored
	}
	return observe.OrderUnanswered
}

// sendOrder sends an order, and takes over the answer.
func (r *Reconciler) sendOrder(ctx context.Context, key types.NamespacedName, order *revision.Order, number int64, signed instanceapi.SignedOrder) {
	uid := types.UID(order.Receiver.PodUID)
	status, err := r.SendOrder(ctx, order.PodIP, signed)
	if err == nil && status.Requested != order.Requested {
		err = errIgnored
	}
	ordersSent.WithLabelValues(orderResult(err)).Inc()
	if err == nil {
		r.Observer.Answered(key, uid, &status)
	} else {
		r.Observer.Unanswered(key, uid, number, orderFailure(err))
		log.FromContext(ctx).Info("a pod did not carry out an order", "pod", order.Pod, "reason", err.Error())
	}
	// Without an answer the application is queued again anyway, with growing pauses.
	if r.orders.end(key, order.Receiver.PodUID, err == nil) {
		r.enqueue(key)
	}
}
