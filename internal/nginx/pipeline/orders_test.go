package pipeline

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// ring is a KeyRing with fixed keys.
type ring []ed25519.PrivateKey

func (r ring) Keys() []ed25519.PrivateKey { return r }
func (ring) OnChange(func())              {}
func (ring) Attempted() <-chan struct{}   { return nil }

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyID(key ed25519.PrivateKey) string {
	return instanceapi.KeyID(key.Public().(ed25519.PublicKey))
}

// sender records the orders that a Reconciler sends, and the applications that it queues.
type sender struct {
	*Pipeline
	mu     sync.Mutex
	sent   []instanceapi.SignedOrder
	queued chan types.NamespacedName
	// answer and status are what every pod answers.
	answer func() error
	status instanceapi.Status
}

func newSender(keys ...ed25519.PrivateKey) *sender {
	s := &sender{status: instanceapi.Status{Requested: instanceapi.Requested{Test: "r1"}}, queued: make(chan types.NamespacedName, 100), answer: func() error { return nil }}
	s.Pipeline = &Pipeline{
		Keys: ring(keys), Clock: clock.RealClock{},
		Observer: observe.New(nil, nil, nil, nil, nil),
		enqueue:  func(key types.NamespacedName) { s.queued <- key },
		SendOrder: func(_ context.Context, _ string, order instanceapi.SignedOrder) (instanceapi.Status, error) {
			s.mu.Lock()
			s.sent = append(s.sent, order)
			s.mu.Unlock()
			return s.status, s.answer()
		},
	}
	return s
}

func (s *sender) orders(t *testing.T) []instanceapi.Order {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var orders []instanceapi.Order
	for _, signed := range s.sent {
		text, err := base64.StdEncoding.DecodeString(signed.Order)
		var order instanceapi.Order
		if err := errors.Join(err, json.Unmarshal(text, &order)); err != nil {
			t.Fatal(err)
		}
		orders = append(orders, order)
	}
	return orders
}

// send sends orders, and reports whether some are postponed.
func (s *sender) send(t *testing.T, application types.NamespacedName, all ...revision.Order) bool {
	t.Helper()
	_, postponed, err := s.sendOrders(t.Context(), application, all)
	if err != nil {
		t.Fatal(err)
	}
	return postponed
}

// begin begins an order to a pod.
func (s *sender) begin(t *testing.T, uid string) {
	t.Helper()
	if _, err := s.Pipeline.orders.begin(web, new(orderFor(uid))); err != nil {
		t.Fatal(err)
	}
}

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func orderFor(uid string, keys ...string) revision.Order {
	return revision.Order{
		Pod: uid, PodIP: "10.0.0.1",
		Receiver:  instanceapi.Orders{Application: instanceapi.Application{Name: "web"}, PodUID: uid, Process: "p", Number: 7, Uptime: 1000, Keys: keys},
		Requested: instanceapi.Requested{Test: "r1"},
	}
}

// TestSendOrders: the last answer queues the application, and a pod gets one order at a time.
func TestSendOrders(t *testing.T) {
	key := newKey(t)
	s := newSender(key)
	hold := make(chan struct{})
	s.answer = func() error { <-hold; return nil }
	all := []revision.Order{orderFor("a", keyID(key)), orderFor("b", keyID(key))}
	for range 2 {
		s.send(t, web, all...)
	}
	if !s.Pipeline.orders.inFlight(web) || len(s.queued) > 0 {
		t.Error("the orders are not in flight")
	}
	close(hold)
	if got := <-s.queued; got != web {
		t.Errorf("%s is queued", got)
	}
	if n := len(s.orders(t)); n != 2 || s.Pipeline.orders.inFlight(web) {
		t.Errorf("%d orders were sent, want one for each pod", n)
	}
}

// TestOrderNumbers: an order is newer than the last one, whatever the clock says, and is valid for a bounded time of the
// receiver's own clock.
func TestOrderNumbers(t *testing.T) {
	now := time.UnixMilli(1000)
	for last, want := range map[int64]int64{7: 1000, 5000: 5001} {
		receiver := orderFor("a").Receiver
		receiver.Number = last
		got := receiver.Next(instanceapi.Requested{Load: "r1"}, now)
		wanted := instanceapi.Order{
			Application: receiver.Application, PodUID: "a", Process: "p", Number: want, Expires: 21000,
			Requested: instanceapi.Requested{Load: "r1"},
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSigner: an order is signed with the newest key that the pod knows, and with no other.
func TestSigner(t *testing.T) {
	current, previous, foreign := newKey(t), newKey(t), newKey(t)
	for name, tt := range map[string]struct {
		knows []string
		want  ed25519.PrivateKey
	}{
		"both":     {[]string{keyID(previous), keyID(current)}, current},
		"previous": {[]string{keyID(previous)}, previous},
		"foreign":  {[]string{keyID(foreign)}, nil},
		"none":     {nil, nil},
	} {
		if got := (instanceapi.Orders{Keys: tt.knows}).Signer([]ed25519.PrivateKey{current, previous}); !got.Equal(tt.want) {
			t.Errorf("a pod that knows %s: another key signs", name)
		}
	}
	s := newSender(current)
	s.send(t, web, orderFor("a", keyID(foreign)))
	if s.Pipeline.orders.inFlight(web) || len(s.orders(t)) > 0 {
		t.Error("a pod that knows no key got an order")
	}
}

// TestFailedOrder: orders without an answer are left to the requeue of the application, and so are those that a pod refuses
// again, so that it costs no endless loop. The first refusal and an answer of another pod are news.
func TestFailedOrder(t *testing.T) {
	key := newKey(t)
	failed := errors.New("connection refused")
	for name, tt := range map[string]struct {
		errors map[string]error
		queued bool
	}{
		"none answers":           {map[string]error{"a": failed, "b": failed}, false},
		"one refuses":            {map[string]error{"a": &instanceapi.RefusedError{Refusal: instanceapi.MissingFiles}}, true},
		"one of two answers":     {map[string]error{"a": nil, "b": failed}, true},
		"the other one, as well": {map[string]error{"a": failed, "b": nil}, true},
	} {
		s := newSender(key)
		for uid := range tt.errors {
			s.begin(t, uid)
		}
		for uid, err := range tt.errors {
			s.answer = func() error { return err }
			s.sendOrder(t.Context(), web, new(orderFor(uid, keyID(key))), 1000, instanceapi.SignedOrder{})
		}
		if (len(s.queued) > 0) != tt.queued {
			t.Errorf("%s: queued %d times", name, len(s.queued))
		}
	}
}

// TestRefusedAgain: a pod that refuses two orders in a row is left to the requeue.
func TestRefusedAgain(t *testing.T) {
	key := newKey(t)
	s := newSender(key)
	s.answer = func() error { return &instanceapi.RefusedError{Refusal: instanceapi.MissingFiles} }
	order := orderFor("a", keyID(key))
	order.LastFailure = time.Now()
	if _, err := s.Pipeline.orders.begin(web, &order); err != nil {
		t.Fatal(err)
	}
	s.sendOrder(t.Context(), web, &order, 1000, instanceapi.SignedOrder{})
	if len(s.queued) > 0 {
		t.Error("the application is queued at once")
	}
}

// TestIgnoredOrder: a pod that answers, and whose status does not show the order, is left to the requeue as well: it
// would be ordered again at once, for ever.
func TestIgnoredOrder(t *testing.T) {
	key := newKey(t)
	order := orderFor("a", keyID(key))
	order.Requested = instanceapi.Requested{Load: "r1"}
	for name, status := range map[string]instanceapi.Status{
		"without the order": {},
		"without its files": {Requested: order.Requested, Orders: &instanceapi.Orders{}, Serving: "r0", Available: []string{"r0"}},
	} {
		s := newSender(key)
		s.status = status
		s.begin(t, "a")
		s.sendOrder(t.Context(), web, &order, 1000, instanceapi.SignedOrder{})
		if len(s.queued) > 0 {
			t.Errorf("%s: the application is queued at once", name)
		}
	}
}

// TestOrderFailures: what is known of a pod says why its last order failed.
func TestOrderFailures(t *testing.T) {
	refused := &instanceapi.RefusedError{Refusal: instanceapi.BadBody}
	for want, err := range map[observe.OrderFailure]error{
		"BadBody":               fmt.Errorf("order: %w", refused),
		observe.OrderIgnored:    errIgnored,
		observe.OrderUnanswered: context.DeadlineExceeded,
	} {
		if got := orderFailure(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// TestStatusWaitsForAnswersOfItsPass: a pass does not report what was true before its orders, even if they have been
// answered already.
func TestStatusWaitsForAnswersOfItsPass(t *testing.T) {
	key := newKey(t)
	s := newSender(key)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
	p := &pass{app: application.Of(nginx), now: time.Now(), selection: &revision.Selection{Progress: revision.Progress{Orders: []revision.Order{orderFor("a", keyID(key))}}}}
	if err := s.orderPods(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	<-s.queued
	if s.Pipeline.orders.inFlight(web) || !s.holdsStatus(p) {
		t.Error("the pass that sent an order writes the status without the answer")
	}
	next := &pass{app: application.Of(nginx), now: time.Now(), selection: &revision.Selection{}}
	if s.holdsStatus(next) {
		t.Error("the next pass does not write the status")
	}
}

// TestStatusDelay: the status waits for answers, and not for long.
func TestStatusDelay(t *testing.T) {
	var d statusDelay
	now := time.Now()
	if d.holds(web, false, now) {
		t.Error("it waits although nothing is due")
	}
	if !d.holds(web, true, now) || !d.holds(web, true, now.Add(statusDelayed/2)) {
		t.Error("it does not wait for answers")
	}
	if d.holds(web, true, now.Add(statusDelayed)) {
		t.Error("it waits for too long")
	}
	if d.holds(web, false, now) || !d.holds(web, true, now.Add(time.Hour)) {
		t.Error("it does not begin anew")
	}
	d.forget(web)
	if len(d.since) > 0 {
		t.Error("something is kept")
	}
}
