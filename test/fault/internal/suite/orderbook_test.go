package suite

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/fault/internal/proxy"
)

// orderedInstance is an instance that takes orders, and the operator's key.
type orderedInstance struct {
	receiver *orders.Receiver
	key      ed25519.PrivateKey
	lacks    instanceapi.Contents
}

func newOrderedInstance() *orderedInstance {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	trust := instanceapi.Trust{Application: instanceapi.Application{Name: "web"}, Keys: []instanceapi.PublicKey{instanceapi.NewPublicKey(public)}}
	files := map[string]string{"site.conf": "new"}
	return &orderedInstance{
		receiver: orders.NewReceiver("p1", func() instanceapi.Trust { return trust }), key: key,
		lacks: instanceapi.Contents{nginxconf.Revision(files): files},
	}
}

func (i *orderedInstance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if _, refusal := i.receiver.Receive(r, func(instanceapi.Order, instanceapi.Contents) instanceapi.Refusal { return "" }); refusal != "" {
			http.Error(w, string(refusal), refusal.Code())
			return
		}
	}
	_ = json.NewEncoder(w).Encode(instanceapi.Status{Protocol: instanceapi.Protocol, Orders: i.receiver.Describe()})
}

// order returns an order to test the configuration that the instance lacks.
func (i *orderedInstance) order(t *testing.T, key ed25519.PrivateKey, contents instanceapi.Contents) *http.Request {
	t.Helper()
	var body []byte
	var requested instanceapi.Requested
	for requested.Test = range i.lacks {
	}
	var err error
	if contents != nil {
		body, err = instanceapi.EncodeContents(contents)
	}
	signed, err2 := instanceapi.Sign(key, i.receiver.Describe().Next(requested, time.Now()), body)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, instanceapi.PathOrders, strings.NewReader(string(body)))
	r.Header.Set(instanceapi.HeaderOrder, signed.Order)
	r.Header.Set(instanceapi.HeaderSignature, signed.Signature)
	return r
}

// sends sends a request, and reports whether the connection was broken off.
func sends(handler http.Handler, r *http.Request) (w *httptest.ResponseRecorder, broken bool) {
	defer func() { broken = recover() != nil }()
	w = httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w, false
}

func query(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, instanceapi.PathStatus, http.NoBody)
}

// TestOrderBook: an order that the pod cannot accept is found.
func TestOrderBook(t *testing.T) {
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
	for name, tt := range map[string]struct {
		query bool
		send  func(i *orderedInstance) *http.Request
		wrong string
	}{
		"as it should be": {true, func(i *orderedInstance) *http.Request { return i.order(t, i.key, i.lacks) }, ""},
		"unknown pod":     {false, func(i *orderedInstance) *http.Request { return i.order(t, i.key, i.lacks) }, "not reported"},
		"other key":       {true, func(i *orderedInstance) *http.Request { return i.order(t, other, i.lacks) }, "signed with the key"},
		"no files":        {true, func(i *orderedInstance) *http.Request { return i.order(t, i.key, nil) }, "does not have"},
	} {
		i, b := newOrderedInstance(), newOrderBook(nil)
		handler := b.wrap(nil)("web-1", i)
		if tt.query {
			sends(handler, query(t))
		}
		sends(handler, tt.send(i))
		if err := b.check(1); (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if total, most := b.counts(); total != 1 || most != 1 || b.single() != nil {
			t.Errorf("%s: %d orders, %d for a pod, %v", name, total, most, b.single())
		}
	}
}

// TestManyOrders: a pod that gets an order again and again is found, and one that gets it twice at once.
func TestManyOrders(t *testing.T) {
	i, b := newOrderedInstance(), newOrderBook(nil)
	var handler http.Handler
	nested, second := false, i.order(t, i.key, i.lacks)
	handler = b.wrap(func(_ string, answer http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && !nested {
				nested = true
				sends(handler, second)
			}
			answer.ServeHTTP(w, r)
		})
	})("web-1", i)
	sends(handler, query(t))
	for range 15 {
		sends(handler, i.order(t, i.key, i.lacks))
	}
	if err := b.check(1); err == nil || b.check(2) != nil {
		t.Errorf("16 orders: %v, and with 2 in an undisturbed run %v", err, b.check(2))
	}
	if b.single() == nil {
		t.Error("two orders at once were not found")
	}
	b.expect()
	if total, most := b.counts(); total != 0 || most != 0 {
		t.Errorf("%d orders are left, %d for a pod", total, most)
	}
}

// TestFaultsOfOrders: what happens to an order under each fault.
func TestFaultsOfOrders(t *testing.T) {
	for fault, want := range map[proxy.Fault]struct{ taken, killed bool }{
		proxy.Cut: {false, false}, proxy.Drop: {true, false}, proxy.KillBefore: {false, true}, proxy.KillAfter: {true, true},
	} {
		i, killed := newOrderedInstance(), false
		b := newOrderBook(func() { killed = true })
		handler := b.wrap(nil)("web-1", i)
		sends(handler, query(t))
		b.disturb(func(n int) proxy.Fault {
			if n == 2 {
				return fault
			}
			return proxy.None
		})
		for n := 1; n <= 3; n++ {
			if _, broken := sends(handler, i.order(t, i.key, i.lacks)); broken != (n == 2) {
				t.Errorf("%s: order %d was broken off: %t", fault, n, broken)
			}
		}
		accepted, _ := i.receiver.Counts()
		if taken := accepted == 3; taken != want.taken || killed != want.killed {
			t.Errorf("%s: it was taken: %t, the operator was killed: %t", fault, taken, killed)
		}
	}
	golden := &Golden{Orders: 3}
	all := OrderCases("scale", golden)
	if len(all) != golden.Orders*len(faultsOfOrders) {
		t.Errorf("%d cases of %d orders", len(all), golden.Orders)
	}
	for _, c := range all {
		if parsed, err := Parse(c.String()); err != nil || parsed.String() != c.String() {
			t.Errorf("%s is read as %s: %v", c, parsed, err)
		}
	}
}

// TestAttacks: an instance refuses every attack. One that takes everything is found.
func TestAttacks(t *testing.T) {
	for name, attack := range attacks {
		for _, gullible := range []bool{false, true} {
			i := newOrderedInstance()
			var pod http.Handler = i
			if gullible {
				pod = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
			}
			b := &disturbedContainers{who: "all", fault: faultyRequests, postOnly: true}
			b.attacker.pods = map[string]http.Handler{}
			b.does = b.attacked(attack)
			b.begun.Store(true)
			handler := b.handler("web-1", pod)
			for range 2 {
				if w, broken := sends(handler, i.order(t, i.key, i.lacks)); broken || w.Code != http.StatusOK {
					t.Errorf("%s: the order of the operator has not passed", name)
				}
			}
			if (b.attacker.succeeded() != nil) != gullible {
				t.Errorf("%s: gullible: %t, %v", name, gullible, b.attacker.succeeded())
			}
		}
	}
}

// TestInstanceCases: the name of every case replays it.
func TestInstanceCases(t *testing.T) {
	for _, c := range InstanceCases("scale") {
		if _, err := (&Stage{}).newDisturbedContainers(c.Point); err != nil {
			t.Error(err)
		}
	}
}
