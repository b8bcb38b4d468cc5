package instanceapi

import "net/http"

// Refusal is why an instance does not accept an order.
type Refusal string

// The reasons, in the order in which they are checked. The checks that cost most come last.
const (
	// Unsigned: a header is missing.
	Unsigned Refusal = "Unsigned"
	// Malformed: the order cannot be read, or contradicts itself.
	Malformed Refusal = "Malformed"
	// Oversized: the body is longer than allowed.
	Oversized Refusal = "Oversized"
	// Foreign: the order is for another application, pod or process.
	Foreign Refusal = "Foreign"
	// Replayed: the number is not greater than that of the last accepted order.
	Replayed Refusal = "Replayed"
	// Expired: the order came too late, or is valid for longer than OrderLifetime.
	Expired Refusal = "Expired"
	// UnknownKey: the key is not one of the operator's public keys that the pod has.
	UnknownKey Refusal = "UnknownKey"
	// BadSignature: the signature is not that of the order.
	BadSignature Refusal = "BadSignature"
	// Busy: another order is being received.
	Busy Refusal = "Busy"
	// BadBody: the body is not the one that was signed, or not what the order says.
	BadBody Refusal = "BadBody"
	// MissingFiles: the instance does not have the files of what is requested, and the order does not bring them. Releases
	// before 0.6 accept such an order, and wait for the files.
	MissingFiles Refusal = "MissingFiles"
)

// Refusals are all refusals.
var Refusals = []Refusal{Unsigned, Malformed, Oversized, Foreign, Replayed, Expired, UnknownKey, BadSignature, Busy, BadBody, MissingFiles}

// Code returns the HTTP status of a refusal.
func (r Refusal) Code() int {
	switch r {
	case Unsigned, UnknownKey, BadSignature:
		return http.StatusUnauthorized
	case Foreign:
		return http.StatusForbidden
	case Replayed, Expired, MissingFiles:
		return http.StatusConflict
	case Oversized:
		return http.StatusRequestEntityTooLarge
	case Busy:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// Verify returns the order in two headers, or why the instance must not accept it. The body has not
// been read yet.
func (o Orders) Verify(trust Trust, header, signature string) (Order, Refusal) {
	return o.verify(purposeOrder, trust, header, signature)
}

func (o Orders) verify(p purpose, trust Trust, header, signature string) (Order, Refusal) {
	if header == "" || signature == "" {
		return Order{}, Unsigned
	}
	order, err := decodeOrder(header)
	if err != nil || len(signature) > MaxOrder {
		return Order{}, Malformed
	}
	if refusal := order.Body.refusal(); refusal != "" {
		return Order{}, refusal
	}
	if refusal := o.refusal(trust.Application, &order); refusal != "" {
		return Order{}, refusal
	}
	known, valid := trust.verify(p, header, signature)
	switch {
	case !known:
		return Order{}, UnknownKey
	case !valid:
		return Order{}, BadSignature
	}
	return order, ""
}

// refusal returns why a body of this size is not accepted.
func (b *Body) refusal() Refusal {
	switch {
	case b == nil:
		return ""
	case b.Size < 0:
		return Malformed
	case b.Size > MaxBody:
		return Oversized
	}
	return ""
}

// refusal returns why an order is not for this process of an application's pod, or not for now.
func (o Orders) refusal(application Application, order *Order) Refusal {
	switch {
	case o.PodUID == "" || order.Application != application || order.PodUID != o.PodUID || order.Process != o.Process:
		return Foreign
	case order.Number <= o.Number:
		return Replayed
	case order.Expires < o.Uptime || order.Expires > o.Uptime+OrderLifetime.Milliseconds():
		return Expired
	}
	return ""
}
