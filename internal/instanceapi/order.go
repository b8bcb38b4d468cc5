package instanceapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// PathOrders accepts an order with POST and answers with a Status as JSON once the order is carried
// out, or after OrderWait. An order that is not accepted is answered with the HTTP status and the
// text of its Refusal.
const PathOrders = "/v1/orders"

// An order is in these headers: the order itself as base64 of its JSON, and the signature as KEYID
// "." and hexadecimal digits. The body has the contents, if the order has any.
const (
	HeaderOrder     = "Nginx-Operator-Order"
	HeaderSignature = "Nginx-Operator-Signature"
)

// Bounds of an order.
const (
	// MaxOrder bounds each header, in bytes.
	MaxOrder = 4 << 10
	// MaxBody bounds the body, and MaxContents the JSON in it, in bytes. A configuration has at most
	// 900 KiB (see package nginxconf), an order has at most two, and base64 adds a third.
	MaxBody     = 2 << 20
	MaxContents = 4 << 20
	// OrderLifetime is the longest time for which an instance lets an order be valid, and OrderValidity is for how long the
	// operator makes it valid. Between two queries, the operator estimates the Uptime of an instance by its own clock: the
	// difference is how much too great the estimate may be, after a node was suspended for example.
	OrderLifetime = 30 * time.Second
	OrderValidity = 20 * time.Second
	// OrderWait is how long an instance waits for the outcome before it answers.
	OrderWait = 5 * time.Second
)

// Order is what the operator requests of one instance: the whole request, not a change of it. An
// order is valid once, for one process.
type Order struct {
	// Application and PodUID are the receiver.
	Application Application `json:"application"`
	PodUID      string      `json:"podUID" max:"128"`
	// Process is the Orders.Process of the receiver, and Number is greater than its Orders.Number.
	Process string `json:"process" max:"128"`
	Number  int64  `json:"number"`
	// Expires is the Orders.Uptime of the receiver up to which the order is valid, in milliseconds.
	// It is in the receiver's own clock, so no two clocks are compared.
	Expires int64 `json:"expires"`
	// Requested is the revision to test, and the one to serve.
	Requested Requested `json:"requested"`
	Hints
	// Body describes the contents; nil: there are none.
	Body *Body `json:"body,omitempty"`
}

// Hints are what the receiver can take into account. They are not part of what is requested.
type Hints struct {
	// DryRun is the dry run of Requested.Test in another pod; nil: the receiver makes its own.
	DryRun *DryRun `json:"dryRun,omitempty"`
	// First reports whether other pods wait for the receiver to load Requested.Load. It then answers once it has compared
	// its first answers with those before.
	First bool `json:"first,omitempty"`
}

// DryRun is a dry run in another pod of the same template. The receiver compares its usage with its own container.
type DryRun struct {
	// Usage is the Revision.Usage of that pod; nil: there is none yet. Before a load, the receiver then makes a dry run of
	// its own.
	Usage *Usage `json:"usage,omitempty"`
}

// Application identifies an NginxOperator.
type Application struct {
	Namespace string `json:"namespace" max:"253"`
	Name      string `json:"name" max:"253"`
	UID       string `json:"uid" max:"128"`
}

// Body describes the body of an order.
type Body struct {
	// Size is its length in bytes, Digest its SHA-256 in hexadecimal digits.
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// NewBody describes a body.
func NewBody(body []byte) *Body {
	sum := sha256.Sum256(body)
	return &Body{Size: int64(len(body)), Digest: hex.EncodeToString(sum[:])}
}

// Matches reports whether it describes the body.
func (b *Body) Matches(body []byte) bool { return *b == *NewBody(body) }

// Orders is what the operator has to know about an instance to send it an order.
type Orders struct {
	// Application and PodUID are whose orders the instance accepts.
	Application Application `json:"application"`
	PodUID      string      `json:"podUID" max:"128"`
	// Process identifies the process. It is random.
	Process string `json:"process" max:"128"`
	// Uptime is the age of the process in milliseconds.
	Uptime int64 `json:"uptimeMilliseconds"`
	// Number is that of the last order that was accepted or refused as MissingFiles, or of the Follow, whichever is greater; 0
	// if there was none.
	Number int64 `json:"number"`
	// Keys are the IDs of the keys whose orders it accepts.
	Keys []string `json:"keys,omitempty" max:"16,128"`
}

// encode returns the text of the header.
func (o Order) encode() (string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encode an order: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}

func decodeOrder(header string) (Order, error) {
	if len(header) > MaxOrder {
		return Order{}, fmt.Errorf("the order is longer than %d bytes", MaxOrder)
	}
	text, err := base64.StdEncoding.Strict().DecodeString(header)
	if err != nil {
		return Order{}, errors.New("the order is not base64")
	}
	var o Order
	if err := json.Unmarshal(text, &o); err != nil {
		return Order{}, errors.New("the order is not JSON")
	}
	return o, nil
}

// Next returns the next order for an instance, which is valid until OrderValidity after its Uptime. Its number is the
// time, so that it can be compared with that of a Follow, and in any case greater than the last one.
func (o Orders) Next(requested Requested, now time.Time) Order {
	return Order{
		Application: o.Application, PodUID: o.PodUID, Process: o.Process, Number: max(o.Number+1, now.UnixMilli()),
		Expires: o.Uptime + OrderValidity.Milliseconds(), Requested: requested,
	}
}
