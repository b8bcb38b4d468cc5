package instanceapi

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// keyOf returns a private key. It is the same in every run, as inputs that were found by fuzzing have to be.
func keyOf(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(name + strings.Repeat(" ", ed25519.SeedSize-len(name))))
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

var (
	currentKey, previousKey = keyOf("current"), keyOf("previous")

	trusted = Trust{
		Application: Application{Namespace: "shop", Name: "web", UID: "u1"},
		Keys:        []PublicKey{NewPublicKey(publicOf(currentKey)), NewPublicKey(publicOf(previousKey))},
	}
	receiver  = Orders{Application: trusted.Application, PodUID: "p1", Process: "c0ffee", Uptime: 60_000, Number: 7, Keys: trusted.IDs()}
	requested = Requested{Test: "r2", Load: "r1"}
)

func sign(t testing.TB, key ed25519.PrivateKey, order Order, body []byte) SignedOrder {
	t.Helper()
	signed, err := Sign(key, order, body)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// nextOrder returns the next order for an instance.
func nextOrder(receiver Orders, requested Requested) Order {
	return receiver.Next(requested, time.UnixMilli(0))
}

// TestSignAndVerify: an order with every trusted key arrives as it was signed.
func TestSignAndVerify(t *testing.T) {
	body := []byte("hello")
	for name, key := range map[string]ed25519.PrivateKey{"current": currentKey, "previous": previousKey} {
		for _, tt := range []struct {
			body []byte
			want *Body
		}{{nil, nil}, {[]byte{}, NewBody(nil)}, {body, NewBody(body)}} {
			signed := sign(t, key, nextOrder(receiver, requested), tt.body)
			got, refusal := receiver.Verify(trusted, signed.Order, signed.Signature)
			want := Order{
				Application: trusted.Application, PodUID: "p1", Process: "c0ffee", Number: 8, Expires: 80_000,
				Requested: requested, Body: tt.want,
			}
			if diff := cmp.Diff(want, got); refusal != "" || diff != "" {
				t.Errorf("%s key, body %q: refused as %q, -want +got:\n%s", name, tt.body, refusal, diff)
			}
			if !slices.Equal(signed.Body, tt.body) || tt.want != nil && !got.Body.Matches(signed.Body) {
				t.Errorf("%s key: the body is %q", name, signed.Body)
			}
		}
	}
}

// flaw is why an order is refused. order changes it before it is signed, and sent changes what is sent.
type flaw struct {
	refusal Refusal
	order   func(*Order)
	sent    func(*SignedOrder)
}

// flaws has one flaw for each refusal without the body, in the order in which they are checked.
var flaws = []flaw{
	{Unsigned, nil, func(s *SignedOrder) { s.Signature = "" }},
	{Malformed, nil, func(s *SignedOrder) { s.Order = "{}" }},
	{Oversized, func(o *Order) { o.Body = &Body{Size: MaxBody + 1} }, nil},
	{Foreign, func(o *Order) { o.PodUID = "p2" }, nil},
	{Replayed, func(o *Order) { o.Number = receiver.Number }, nil},
	{Expired, func(o *Order) { o.Expires = receiver.Uptime - 1 }, nil},
	{UnknownKey, nil, func(s *SignedOrder) { s.Signature = KeyID(publicOf(keyOf("other"))) + "." }},
	{BadSignature, nil, func(s *SignedOrder) { s.Signature = KeyID(publicOf(currentKey)) + "." + strings.Repeat("0", 128) }},
}

// TestRefusalsInOrder: an order that has a flaw and all later ones is refused for the first one.
func TestRefusalsInOrder(t *testing.T) {
	var covered []Refusal
	for i, first := range flaws {
		covered = append(covered, first.refusal)
		order := nextOrder(receiver, requested)
		for _, f := range flaws[i:] {
			if f.order != nil {
				f.order(&order)
			}
		}
		signed := sign(t, currentKey, order, nil)
		for _, f := range slices.Backward(flaws[i:]) {
			if f.sent != nil {
				f.sent(&signed)
			}
		}
		got, refusal := receiver.Verify(trusted, signed.Order, signed.Signature)
		if refusal != first.refusal || got != (Order{}) {
			t.Errorf("%s: refused as %q with %+v", first.refusal, refusal, got)
		}
	}
	if diff := cmp.Diff(Refusals, append(covered, Busy, BadBody, MissingFiles)); diff != "" {
		t.Errorf("not every refusal has a row (-all +covered):\n%s", diff)
	}
}

// TestVerify: each condition of an order decides alone.
func TestVerify(t *testing.T) {
	lifetime := OrderLifetime.Milliseconds()
	for name, tt := range map[string]struct {
		change func(*Order)
		want   Refusal
	}{
		"valid":               {func(*Order) {}, ""},
		"nothing requested":   {func(o *Order) { o.Requested = Requested{} }, ""},
		"the longest body":    {func(o *Order) { o.Body = &Body{Size: MaxBody} }, ""},
		"too long a body":     {func(o *Order) { o.Body = &Body{Size: MaxBody + 1} }, Oversized},
		"a negative length":   {func(o *Order) { o.Body = &Body{Size: -1} }, Malformed},
		"another namespace":   {func(o *Order) { o.Application.Namespace = "blog" }, Foreign},
		"another name":        {func(o *Order) { o.Application.Name = "blog" }, Foreign},
		"another object":      {func(o *Order) { o.Application.UID = "u2" }, Foreign},
		"no application":      {func(o *Order) { o.Application = Application{} }, Foreign},
		"another pod":         {func(o *Order) { o.PodUID = "p2" }, Foreign},
		"no pod":              {func(o *Order) { o.PodUID = "" }, Foreign},
		"another process":     {func(o *Order) { o.Process = "decaf" }, Foreign},
		"a later number":      {func(o *Order) { o.Number += 1000 }, ""},
		"the last number":     {func(o *Order) { o.Number = receiver.Number }, Replayed},
		"a negative number":   {func(o *Order) { o.Number = -1 }, Replayed},
		"just in time":        {func(o *Order) { o.Expires = receiver.Uptime }, ""},
		"too late":            {func(o *Order) { o.Expires = receiver.Uptime - 1 }, Expired},
		"as long as possible": {func(o *Order) { o.Expires = receiver.Uptime + lifetime }, ""},
		"valid for too long":  {func(o *Order) { o.Expires = receiver.Uptime + lifetime + 1 }, Expired},
	} {
		order := nextOrder(receiver, requested)
		tt.change(&order)
		signed := sign(t, currentKey, order, nil)
		if _, got := receiver.Verify(trusted, signed.Order, signed.Signature); got != tt.want {
			t.Errorf("%s: refused as %q, want %q", name, got, tt.want)
		}
	}
}

// TestEstimatedUptime: an order is valid although the operator only estimates the age of the receiver, and needs time to
// send it.
func TestEstimatedUptime(t *testing.T) {
	for ahead, want := range map[time.Duration]Refusal{
		-21 * time.Second: Expired,
		-19 * time.Second: "",
		0:                 "",
		9 * time.Second:   "",
		11 * time.Second:  Expired,
	} {
		estimate := receiver
		estimate.Uptime += ahead.Milliseconds()
		signed := sign(t, currentKey, nextOrder(estimate, requested), nil)
		if _, got := receiver.Verify(trusted, signed.Order, signed.Signature); got != want {
			t.Errorf("an estimate that is %s too great: refused as %q, want %q", ahead, got, want)
		}
	}
}

// TestVerifyHeaders: what is sent has to be what was signed.
func TestVerifyHeaders(t *testing.T) {
	other := nextOrder(receiver, Requested{Load: "r3"})
	for name, tt := range map[string]struct {
		change func(*SignedOrder)
		want   Refusal
	}{
		"no order":                {func(s *SignedOrder) { s.Order = "" }, Unsigned},
		"no signature":            {func(s *SignedOrder) { s.Signature = "" }, Unsigned},
		"no base64":               {func(s *SignedOrder) { s.Order += "!" }, Malformed},
		"no JSON":                 {func(s *SignedOrder) { s.Order = "AAAA" }, Malformed},
		"a long order":            {func(s *SignedOrder) { s.Order = strings.Repeat("A", MaxOrder+4) }, Malformed},
		"a long signature":        {func(s *SignedOrder) { s.Signature += strings.Repeat("0", MaxOrder) }, Malformed},
		"another order":           {func(s *SignedOrder) { s.Order = sign(t, currentKey, other, nil).Order }, BadSignature},
		"another signature":       {func(s *SignedOrder) { s.Signature = sign(t, currentKey, other, nil).Signature }, BadSignature},
		"an unknown key":          {func(s *SignedOrder) { *s = sign(t, keyOf("other"), nextOrder(receiver, requested), nil) }, UnknownKey},
		"no key":                  {func(s *SignedOrder) { s.Signature = s.Signature[16:] }, UnknownKey},
		"the ID of the other key": {func(s *SignedOrder) { s.Signature = KeyID(publicOf(previousKey)) + s.Signature[16:] }, BadSignature},
		"only the ID":             {func(s *SignedOrder) { s.Signature = s.Signature[:16] }, BadSignature},
		"half a signature":        {func(s *SignedOrder) { s.Signature = s.Signature[:80] }, BadSignature},
		"no digits":               {func(s *SignedOrder) { s.Signature = s.Signature[:17] + strings.Repeat("x", 128) }, BadSignature},
	} {
		signed := sign(t, currentKey, nextOrder(receiver, requested), nil)
		tt.change(&signed)
		if _, got := receiver.Verify(trusted, signed.Order, signed.Signature); got != tt.want {
			t.Errorf("%s: refused as %q, want %q", name, got, tt.want)
		}
	}
}

// TestVerifyWithoutTrust: an instance that knows neither an operator nor its own UID accepts no order.
func TestVerifyWithoutTrust(t *testing.T) {
	nobody := Orders{PodUID: "p1"}
	signed := sign(t, currentKey, nextOrder(nobody, requested), nil)
	if _, got := nobody.Verify(Trust{}, signed.Order, signed.Signature); got != UnknownKey {
		t.Errorf("without keys: refused as %q", got)
	}
	unnamed := receiver
	unnamed.PodUID = ""
	signed = sign(t, currentKey, nextOrder(unnamed, requested), nil)
	if _, got := unnamed.Verify(trusted, signed.Order, signed.Signature); got != Foreign {
		t.Errorf("without a UID: refused as %q", got)
	}
}

// TestNext: numbers are the time, and grow even if the clock does not.
func TestNext(t *testing.T) {
	for _, tt := range []struct{ last, now, want int64 }{{0, 1000, 1000}, {999, 1000, 1000}, {1000, 1000, 1001}, {2000, 1000, 2001}, {7, -1, 8}} {
		r := receiver
		r.Number = tt.last
		if got := r.Next(requested, time.UnixMilli(tt.now)).Number; got != tt.want {
			t.Errorf("%d ms, after %d: %d, want %d", tt.now, tt.last, got, tt.want)
		}
	}
}

// TestPermits: a pod may follow if it is meant, and no later order has come.
func TestPermits(t *testing.T) {
	for name, tt := range map[string]struct {
		follow *Follow
		want   bool
	}{
		"none":             {nil, false},
		"all pods":         {&Follow{Number: 8}, true},
		"this pod":         {&Follow{Number: 8, Pods: []string{"p0", "p1"}}, true},
		"another pod":      {&Follow{Number: 8, Pods: []string{"p2"}}, false},
		"at the same time": {&Follow{Number: 7}, false},
		"before the order": {&Follow{Number: 6}, false},
		"before, this pod": {&Follow{Number: 6, Pods: []string{"p1"}}, false},
	} {
		if got := tt.follow.Permits("p1", 7); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestRefusalCodes: every refusal has a status of its own kind, and none looks like a success or like a missing path.
func TestRefusalCodes(t *testing.T) {
	want := map[Refusal]int{
		Unsigned: 401, Malformed: 400, Oversized: 413, Foreign: 403, Replayed: 409, Expired: 409, UnknownKey: 401,
		BadSignature: 401, Busy: 503, BadBody: 400, MissingFiles: 409,
	}
	for _, r := range Refusals {
		if got := r.Code(); got != want[r] {
			t.Errorf("%s: %d, want %d", r, got, want[r])
		}
	}
}

func TestParseTrust(t *testing.T) {
	text, err := trusted.Text()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseTrust(text)
	if diff := cmp.Diff(trusted, got); err != nil || diff != "" {
		t.Errorf("(%v) -want +got:\n%s", err, diff)
	}
	key := trusted.Keys[0]
	for name, keys := range map[string][]PublicKey{
		"too many":      slices.Repeat([]PublicKey{key}, maxKeys+1),
		"another ID":    {{ID: trusted.Keys[1].ID, Key: key.Key}},
		"no ID":         {{Key: key.Key}},
		"a short key":   {NewPublicKey(key.Key[:31])},
		"a long key":    {NewPublicKey(append(slices.Clone(key.Key), 0))},
		"one bad of 2":  {key, {ID: "x", Key: key.Key}},
		"an absent key": {NewPublicKey(nil)},
	} {
		text, err := Trust{Application: trusted.Application, Keys: keys}.Text()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseTrust(text); err == nil || len(got.Keys) > 0 || got.Application != (Application{}) {
			t.Errorf("%s: parsed as %+v", name, got)
		}
	}
	for _, text := range []string{"", "[]", "{", text + text} {
		if got, err := ParseTrust(text); err == nil || len(got.Keys) > 0 {
			t.Errorf("%q: parsed as %+v", text, got)
		}
	}
}
