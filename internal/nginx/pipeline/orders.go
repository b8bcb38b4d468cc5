package pipeline

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// KeyRing holds the operator's private keys.
type KeyRing interface {
	// Keys returns them, the newest first; empty while they are unknown.
	Keys() []ed25519.PrivateKey
	// OnChange adds a function that is called when there are other keys.
	OnChange(changed func())
	// Attempted returns a channel that is closed once the keys have been read for the first time, successfully or not.
	Attempted() <-chan struct{}
}

// publicKeys returns the public keys of the operator, the newest first.
func (l *Pipeline) publicKeys() []instanceapi.PublicKey {
	var keys []instanceapi.PublicKey
	for _, key := range l.Keys.Keys() {
		if public, ok := key.Public().(ed25519.PublicKey); ok {
			keys = append(keys, instanceapi.NewPublicKey(public))
		}
	}
	return keys
}

// sendOrders sends orders in the background. The answers become what is known of the instances, and the last one queues
// the application again. No pass waits for a pod. It reports whether some were sent, and whether some are postponed,
// because too many others are in flight: pods that took their last order come first, and then those that have waited for
// the longest time.
func (l *Pipeline) sendOrders(ctx context.Context, key types.NamespacedName, all []revision.Order) (sent, postponed bool, err error) {
	keys := l.Keys.Keys()
	for _, order := range slices.SortedStableFunc(slices.Values(all), byLastFailure) {
		signer := order.Receiver.Signer(keys)
		if signer == nil {
			// It counts as unreachable until the kubelet delivers a key.
			why := observe.OrderFailure(instanceapi.UnknownKey)
			if len(keys) == 0 {
				why = observe.OrderUnsigned
			}
			l.Observer.Unanswered(key, types.UID(order.Receiver.PodUID), 0, why)
			log.FromContext(ctx).Info("a pod gets no order, because it knows none of the operator's public keys", "pod", order.Pod, "keys", len(keys))
			continue
		}
		body, err := l.orders.begin(key, &order)
		switch {
		case errors.Is(err, errOrderInFlight):
			continue
		case errors.Is(err, errTooManyOrders):
			// The rest has to wait as well: retries come last.
			return sent, true, nil
		case err != nil:
			return sent, false, err
		}
		request := order.Receiver.Next(order.Requested, l.Clock.Now())
		request.Hints = order.Hints
		signed, err := instanceapi.Sign(signer, request, body)
		if err != nil {
			l.orders.end(key, order.Receiver.PodUID, false)
			return sent, false, err
		}
		// Only the body is needed from now on.
		order.Contents = nil
		sent = true
		go l.sendOrder(context.WithoutCancel(ctx), key, &order, request.Number, signed)
	}
	return sent, false, nil
}

func byLastFailure(a, b revision.Order) int { return a.LastFailure.Compare(b.LastFailure) }

var errIgnored = errors.New("it answered, and its status does not show the order or its files")

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

// accepted reports whether an instance has taken over what it was requested, with the files.
func accepted(status *instanceapi.Status, requested instanceapi.Requested) bool {
	load := requested.Load
	return status.Requested == requested && (load == "" || status.Orders == nil || status.HasFiles(load))
}

// sendOrder sends an order, and takes over the answer.
func (l *Pipeline) sendOrder(ctx context.Context, key types.NamespacedName, order *revision.Order, number int64, signed instanceapi.SignedOrder) {
	uid := types.UID(order.Receiver.PodUID)
	status, err := l.SendOrder(ctx, order.PodIP, signed)
	if err == nil && !accepted(&status, order.Requested) {
		err = errIgnored
	}
	ordersSent.WithLabelValues(orderResult(err)).Inc()
	if err == nil {
		l.Observer.Answered(key, uid, &status)
	} else {
		l.Observer.Unanswered(key, uid, number, orderFailure(err))
		log.FromContext(ctx).Info("a pod did not carry out an order", "pod", order.Pod, "reason", err.Error())
	}
	// Without an answer the application is queued again anyway, with growing pauses.
	refused := &instanceapi.RefusedError{}
	if l.orders.end(key, order.Receiver.PodUID, err == nil) || order.LastFailure.IsZero() && errors.As(err, &refused) {
		// What the operator knew of a pod that refuses an order was wrong: its process or its files are others by now. The
		// next pass queries it, and repeats the order once without a pause.
		l.enqueue(key)
	}
}
