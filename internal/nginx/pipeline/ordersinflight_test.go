package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// named returns an application in a namespace of its own.
func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: name, Name: name}
}

// fill begins as many orders of an application as possible, and returns their number.
func fill(t *testing.T, o *orders, key types.NamespacedName, change func(*revision.Order)) int {
	t.Helper()
	for n := range 1000 {
		order := orderFor(fmt.Sprintf("%s-%d", key.Name, n))
		change(&order)
		switch _, err := o.begin(key, &order); {
		case errors.Is(err, errTooManyOrders):
			return n
		case err != nil:
			t.Fatal(err)
		}
	}
	return 1000
}

func endAll(o *orders) {
	for key, a := range o.applications {
		for uid := range a.pods {
			o.end(key, uid, false)
		}
	}
}

func fresh(*revision.Order)   {}
func retry(o *revision.Order) { o.LastFailure = time.Unix(1, 0) }

// TestParallelOrders: how many orders are in flight at the same time, for an application, for a namespace and for all of them.
func TestParallelOrders(t *testing.T) {
	var o orders
	in := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	for _, step := range []struct {
		application types.NamespacedName
		change      func(*revision.Order)
		want        int
	}{
		{in("silent", "1"), retry, applicationRetries},
		{in("silent", "2"), retry, parallelRetries*2/3 + 1 - applicationRetries},
		{in("silent", "3"), retry, 0},
		{in("other", "1"), retry, 28},
		{in("shop", "a"), fresh, 95},
		{in("shop", "b"), fresh, 0},
		{in("bank", "a"), fresh, 32},
	} {
		if n := fill(t, &o, step.application, step.change); n != step.want {
			t.Errorf("%d orders of %s begin, want %d", n, step.application, step.want)
		}
	}
	if _, err := o.begin(in("shop", "a"), new(orderFor("a-0"))); !errors.Is(err, errOrderInFlight) {
		t.Errorf("a second order to a pod: %v", err)
	}
	o.end(in("shop", "a"), "a-0", true)
	if n := fill(t, &o, in("another", "a"), fresh); n != 11 {
		t.Errorf("%d orders of a namespace that has none begin", n)
	}
	endAll(&o)
	if len(o.applications) != 0 || o.all != (usage{}) || len(o.namespaces) != 0 {
		t.Errorf("after the last order, something is left: %v, %v", o.all, o.namespaces)
	}
}

// TestOrderBytes: orders of an application with the same contents share a body, and the bodies of all are bounded.
func TestOrderBytes(t *testing.T) {
	var o orders
	random := rand.NewChaCha8([32]byte{})
	large := func() instanceapi.Contents {
		text := make([]byte, 900<<10)
		_, _ = random.Read(text)
		return instanceapi.Contents{"r1": {"site.conf": string(text)}}
	}
	contents := large()
	with := func(c instanceapi.Contents) func(*revision.Order) {
		return func(order *revision.Order) { order.Contents = c }
	}
	if n := fill(t, &o, named("a"), with(contents)); n != applicationOrders || o.all.bytes > 1<<20 {
		t.Errorf("%d orders with the same contents have %d bytes", n, o.all.bytes)
	}
	for i := range parallelOrders {
		order := orderFor("b")
		order.Contents = large()
		if _, err := o.begin(named(fmt.Sprint("b-", i)), &order); errors.Is(err, errTooManyOrders) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if o.all.bytes > maxOrderBytes || o.all.bytes < maxOrderBytes-1<<20 {
		t.Errorf("the bodies have %d bytes", o.all.bytes)
	}
	if n := fill(t, &o, named("c"), fresh); n == 0 {
		t.Error("there is no room for an order without a body")
	}
	endAll(&o)
	if o.all.bytes != 0 || len(o.applications) != 0 {
		t.Errorf("%d bytes are left", o.all.bytes)
	}
}

// TestFairOrders: an application whose pods hang delays none of another one. Its own pods get their orders in turn: those
// that took the last one first, and then those that have waited for the longest time.
func TestFairOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey(t)
		s := newSender(key)
		s.answer = func() error { time.Sleep(6 * time.Second); return errors.New("timeout") }
		many := func(name string, n int) []revision.Order {
			var all []revision.Order
			for i := range n {
				all = append(all, orderFor(fmt.Sprintf("%s-%d", name, i), keyID(key)))
			}
			return all
		}
		broken := many("broken", 300)
		if !s.send(t, named("broken"), broken...) {
			t.Error("nothing is postponed")
		}
		if s.send(t, named("good"), many("good", 100)...) {
			t.Error("an application with 100 pods waits for another one")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(s.orders(t)); n != applicationOrders+100 {
			t.Errorf("%d orders were sent", n)
		}
		s.sent = nil
		for i := range broken {
			broken[i].LastFailure = time.Unix(int64(1000-i), 0)
		}
		broken[299].LastFailure = time.Time{}
		s.send(t, named("broken"), broken...)
		time.Sleep(time.Minute)
		synctest.Wait()
		var got []string
		for _, order := range s.orders(t) {
			got = append(got, order.PodUID)
		}
		text := strings.Join(got, " ") + " "
		if len(got) != 1+applicationRetries || !strings.Contains(text, "broken-299 ") || !strings.Contains(text, "broken-298 ") || strings.Contains(text, "broken-0 ") {
			t.Errorf("%d orders were sent, to %s", len(got), text)
		}
	})
}

// TestPostponedOrders: an application whose orders were postponed is queued again soon, whatever its phase.
func TestPostponedOrders(t *testing.T) {
	for _, d := range []rollout.Decision{{Phase: rollout.Testing, Watch: true}, {Phase: rollout.Settled}, {Phase: rollout.Rejected}} {
		var p requeueBackoff
		now := time.Now()
		for i := range 200 {
			wait := p.next(web, d, activity{postponed: true, inFlight: i%2 == 0}, now)
			if wait < backoffInFlight || wait > backoffPostponed {
				t.Fatalf("phase %s: the wait is %s", d.Phase, wait)
			}
		}
	}
}
