// Package attack sends the instance's receiver of orders what it must not accept, as an attacker in
// the pod network could: orders of others, old ones, and changed ones.
package attack

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// attack is something that an instance must refuse. It returns whether the instance has accepted it.
type attack struct {
	name string
	run  func(*target) (accepted bool, err error)
}

// attacks are all attacks, each on an instance of its own.
var attacks = []attack{
	{"unsigned", (*target).unsigned},
	{"other-key", (*target).otherKey},
	{"altered", (*target).altered},
	{"other-application", changed(func(o *instanceapi.Order) { o.Application.UID = "another" })},
	{"other-pod", changed(func(o *instanceapi.Order) { o.PodUID = "another" })},
	{"other-process", changed(func(o *instanceapi.Order) { o.Process = "another" })},
	{"equal-number", (*target).replayed},
	{"captured-for-another-pod", replayedTo("p2")},
	{"captured-before-a-restart", replayedTo("p1")},
	{"lower-number", (*target).delayed},
	{"expired", changed(func(o *instanceapi.Order) { o.Expires = -1 })},
	{"valid-for-too-long", changed(func(o *instanceapi.Order) { o.Expires += time.Hour.Milliseconds() })},
	{"other-body", (*target).otherBody},
	{"half-a-body", (*target).halfABody},
	{"other-contents", (*target).otherContents},
	{"follow-of-another-pod", follow(instanceapi.Follow{Number: 1 << 60, Pods: []string{"another"}})},
	{"follow-after-an-order", follow(instanceapi.Follow{Number: 1})},
}

// Names returns the names of all attacks.
func Names() []string {
	var names []string
	for _, a := range attacks {
		names = append(names, a.name)
	}
	return names
}

// Run makes all attacks, and returns the names of those that an instance has accepted. It returns an
// error if an instance does not take an order of the operator, so that the attacks prove nothing.
func Run(ctx context.Context) (accepted []string, err error) {
	for _, a := range attacks {
		t, err := newTarget(ctx)
		if err != nil {
			return nil, err
		}
		taken, err := a.run(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		if taken {
			accepted = append(accepted, a.name)
		}
	}
	return accepted, nil
}

// target is an instance that has taken an order of the operator.
type target struct {
	*orders.Receiver
	ctx context.Context
	key ed25519.PrivateKey
	// trust is what the instance reads from its mounted file.
	trust instanceapi.Trust
	// captured is the order that it has taken.
	captured instanceapi.SignedOrder
	// requested is what the last accepted order requested.
	requested instanceapi.Requested
}

func newTarget(ctx context.Context) (*target, error) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	t := &target{ctx: ctx, key: key, trust: instanceapi.Trust{
		Application: instanceapi.Application{Namespace: "shop", Name: "web", UID: "u1"},
		Keys:        []instanceapi.PublicKey{instanceapi.NewPublicKey(public)},
	}}
	t.Receiver = orders.NewReceiver("p1", func() instanceapi.Trust { return t.trust })
	t.captured, err = t.sign(t.next(), nil)
	return t, errors.Join(err, t.takes(t.captured))
}

// next returns the operator's next order.
func (t *target) next() instanceapi.Order {
	return t.Describe().Next(instanceapi.Requested{Test: "a", Load: "a"}, time.Now())
}

// sign signs an order as the operator does.
func (t *target) sign(o instanceapi.Order, contents instanceapi.Contents) (instanceapi.SignedOrder, error) {
	if contents == nil {
		return instanceapi.Sign(t.key, o, nil)
	}
	body, err := instanceapi.EncodeContents(contents)
	if err != nil {
		return instanceapi.SignedOrder{}, err
	}
	return instanceapi.Sign(t.key, o, body)
}

// sends reports whether the instance accepts an order.
func (t *target) sends(o instanceapi.SignedOrder) bool {
	r := httptest.NewRequestWithContext(t.ctx, http.MethodPost, instanceapi.PathOrders, bytes.NewReader(o.Body))
	r.Header.Set(instanceapi.HeaderOrder, o.Order)
	r.Header.Set(instanceapi.HeaderSignature, o.Signature)
	_, refusal := t.Receive(r, func(o instanceapi.Order, _ instanceapi.Contents) instanceapi.Refusal {
		t.requested = o.Requested
		return ""
	})
	return refusal == ""
}

// takes returns an error if the instance does not accept an order of the operator.
func (t *target) takes(o instanceapi.SignedOrder) error {
	if !t.sends(o) {
		return errors.New("the instance does not take an order of the operator")
	}
	return nil
}

// changed sends an order that the operator has signed for something else.
func changed(change func(*instanceapi.Order)) func(*target) (bool, error) {
	return func(t *target) (bool, error) {
		order := t.next()
		change(&order)
		signed, err := t.sign(order, nil)
		return t.sends(signed), err
	}
}

func (t *target) unsigned() (bool, error) {
	signed, err := t.sign(t.next(), nil)
	signed.Signature = ""
	return t.sends(signed), err
}

func (t *target) otherKey() (bool, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return false, err
	}
	t.key = key
	own, err := t.sign(t.next(), nil)
	// The attacker also claims to have signed with the operator's key.
	_, digits, _ := strings.Cut(own.Signature, ".")
	claimed := own
	claimed.Signature = t.trust.Keys[0].ID + "." + digits
	return t.sends(own) || t.sends(claimed), err
}

// altered sends a captured order with a higher number, and its signature.
func (t *target) altered() (bool, error) {
	order := t.next()
	order.Requested.Load = "b"
	text, err := json.Marshal(order)
	return t.sends(instanceapi.SignedOrder{Order: base64.StdEncoding.EncodeToString(text), Signature: t.captured.Signature}), err
}

func (t *target) replayed() (bool, error) { return t.sends(t.captured), nil }

// replayedTo sends a captured order to another process of the application, in the pod with a UID.
func replayedTo(pod string) func(*target) (bool, error) {
	return func(t *target) (bool, error) {
		trust := t.trust
		t.Receiver = orders.NewReceiver(pod, func() instanceapi.Trust { return trust })
		return t.sends(t.captured), nil
	}
}

// delayed holds an order back until the operator has sent another one.
func (t *target) delayed() (bool, error) {
	held, err := t.sign(t.next(), nil)
	if err != nil {
		return false, err
	}
	later := t.next()
	later.Number++
	signed, err := t.sign(later, nil)
	if err := errors.Join(err, t.takes(signed)); err != nil {
		return false, err
	}
	return t.sends(held), nil
}

func contents(text string) instanceapi.Contents {
	files := map[string]string{"site.conf": text}
	return instanceapi.Contents{nginxconf.Revision(files): files}
}

// otherBody sends the contents of another configuration, of the same length, with an order.
func (t *target) otherBody() (bool, error) {
	signed, err := t.sign(t.next(), contents("first"))
	if err != nil {
		return false, err
	}
	signed.Body, err = instanceapi.EncodeContents(contents("other"))
	return t.sends(signed), err
}

func (t *target) halfABody() (bool, error) {
	signed, err := t.sign(t.next(), contents("first"))
	signed.Body = signed.Body[:len(signed.Body)/2]
	return t.sends(signed), err
}

// otherContents sends files that are not those of their revision.
func (t *target) otherContents() (bool, error) {
	signed, err := t.sign(t.next(), instanceapi.Contents{"a": {"site.conf": "other"}})
	return t.sends(signed), err
}

// follow lets pods load a revision by the trust file: other pods, or before the last order.
func follow(f instanceapi.Follow) func(*target) (bool, error) {
	return func(t *target) (bool, error) {
		f.Revision = "b"
		t.trust.Follow = &f
		return t.Follow() != "", nil
	}
}
