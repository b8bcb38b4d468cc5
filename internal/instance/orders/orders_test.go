package orders

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

var (
	key     = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	trusted = instanceapi.Trust{
		Application: instanceapi.Application{Namespace: "shop", Name: "web", UID: "u1"},
		Keys:        []instanceapi.PublicKey{instanceapi.NewPublicKey(key.Public().(ed25519.PublicKey))},
	}
	files    = map[string]string{"site.conf": "server {}"}
	revision = nginxconf.Revision(files)
)

func newReceiver() *Receiver {
	return NewReceiver("p1", func() instanceapi.Trust { return trusted })
}

// taken is what a receiver has handed over.
type taken struct {
	requested instanceapi.Requested
	contents  instanceapi.Contents
}

// takes returns a function that appends what it is given.
func takes(all *[]taken) func(instanceapi.Order, instanceapi.Contents) instanceapi.Refusal {
	return func(o instanceapi.Order, c instanceapi.Contents) instanceapi.Refusal {
		*all = append(*all, taken{o.Requested, c})
		return ""
	}
}

// TestOrderThatIsNotTaken: an order that cannot be carried out is refused and counted, and is not accepted later either.
func TestOrderThatIsNotTaken(t *testing.T) {
	r := newReceiver()
	order := sign(t, nextOrder(r.Describe(), instanceapi.Requested{Load: "r1"}), nil)
	refuses := func(instanceapi.Order, instanceapi.Contents) instanceapi.Refusal { return instanceapi.MissingFiles }
	if got, refusal := r.Receive(request(order), refuses); refusal != instanceapi.MissingFiles || got != (instanceapi.Requested{}) {
		t.Errorf("requested %+v, refused as %q", got, refusal)
	}
	var all []taken
	if _, refusal := r.Receive(request(order), takes(&all)); refusal != instanceapi.Replayed || len(all) > 0 {
		t.Errorf("when it is sent again, it is refused as %q", refusal)
	}
	if _, refusal := r.Receive(request(sign(t, nextOrder(r.Describe(), instanceapi.Requested{Load: "r1"}), nil)), takes(&all)); refusal != "" {
		t.Errorf("the next order is refused as %s", refusal)
	}
	wantCounts(t, r, 1, map[instanceapi.Refusal]int64{instanceapi.MissingFiles: 1, instanceapi.Replayed: 1})
}

func sign(t *testing.T, order instanceapi.Order, body []byte) instanceapi.SignedOrder {
	t.Helper()
	signed, err := instanceapi.Sign(key, order, body)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func encode(t *testing.T, contents instanceapi.Contents) []byte {
	t.Helper()
	body, err := instanceapi.EncodeContents(contents)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// nextOrder returns the next order for a receiver.
func nextOrder(described *instanceapi.Orders, requested instanceapi.Requested) instanceapi.Order {
	return described.Next(requested, time.Now())
}

// request returns the request that sends an order with a body of known length.
func request(order instanceapi.SignedOrder) *http.Request {
	return streamed(order, bytes.NewReader(order.Body))
}

func streamed(order instanceapi.SignedOrder, body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, instanceapi.PathOrders, body)
	r.Header.Set(instanceapi.HeaderOrder, order.Order)
	r.Header.Set(instanceapi.HeaderSignature, order.Signature)
	return r
}

// wantCounts fails the test unless the receiver has counted exactly these orders.
func wantCounts(t *testing.T, r *Receiver, accepted int64, refused map[instanceapi.Refusal]int64) {
	t.Helper()
	want := map[instanceapi.Refusal]int64{}
	for _, reason := range instanceapi.Refusals {
		want[reason] = refused[reason]
	}
	gotAccepted, got := r.Counts()
	if diff := cmp.Diff(want, got); gotAccepted != accepted || diff != "" {
		t.Errorf("%d were accepted, want %d; refused, -want +got:\n%s", gotAccepted, accepted, diff)
	}
}

// TestReceive: what an order requests is handed over with its contents, and counted.
func TestReceive(t *testing.T) {
	r := newReceiver()
	wantCounts(t, r, 0, nil)
	var all, want []taken
	var last int64
	for _, tt := range []taken{
		{instanceapi.Requested{Test: revision}, instanceapi.Contents{revision: files}},
		{instanceapi.Requested{Test: revision, Load: revision}, nil},
		{instanceapi.Requested{}, instanceapi.Contents{}},
	} {
		var body []byte
		if tt.contents != nil {
			body = encode(t, tt.contents)
		}
		described := r.Describe()
		if described.Number != last || described.Application != trusted.Application || described.PodUID != "p1" || !slices.Equal(described.Keys, trusted.IDs()) {
			t.Errorf("it is described as %+v", described)
		}
		order := nextOrder(described, tt.requested)
		got, refusal := r.Receive(request(sign(t, order, body)), takes(&all))
		last = order.Number
		if refusal != "" || got != tt.requested {
			t.Errorf("refused as %q, or taken as %+v", refusal, got)
		}
		want = append(want, tt)
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(taken{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantCounts(t, r, 3, nil)
}

// TestRefused: what is refused is counted by its reason, and nothing is handed over.
func TestRefused(t *testing.T) {
	r := newReceiver()
	var all []taken
	next := nextOrder(r.Describe(), instanceapi.Requested{})
	first := sign(t, next, nil)
	if _, refusal := r.Receive(request(first), takes(&all)); refusal != "" {
		t.Fatalf("refused as %s", refusal)
	}
	late := nextOrder(r.Describe(), instanceapi.Requested{})
	late.Expires = -1
	unsigned := first
	unsigned.Signature = ""
	refused := map[instanceapi.Refusal]int64{}
	for want, order := range map[instanceapi.Refusal]instanceapi.SignedOrder{
		instanceapi.Unsigned: unsigned,
		instanceapi.Replayed: first,
		instanceapi.Expired:  sign(t, late, nil),
		instanceapi.Foreign:  sign(t, nextOrder(newReceiver().Describe(), instanceapi.Requested{}), nil),
	} {
		for range 2 {
			refused[want]++
			if got, refusal := r.Receive(request(order), takes(&all)); refusal != want || got != (instanceapi.Requested{}) {
				t.Errorf("refused as %q, want %s: %+v", refusal, want, got)
			}
		}
	}
	if len(all) != 1 || r.Describe().Number != next.Number {
		t.Errorf("taken: %+v", all)
	}
	wantCounts(t, r, 1, refused)
}

// TestBodies: a body has to be the signed one, and to hold what it claims.
func TestBodies(t *testing.T) {
	good, mislabeled := encode(t, instanceapi.Contents{revision: files}), encode(t, instanceapi.Contents{"0123456789abcdef": files})
	var bomb bytes.Buffer
	writer := gzip.NewWriter(&bomb)
	if _, err := io.Copy(writer, io.LimitReader(zeros{}, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	escaping := func(name string) []byte {
		outside := map[string]string{name: "x"}
		return encode(t, instanceapi.Contents{nginxconf.Revision(outside): outside})
	}
	for name, tt := range map[string]struct {
		signed []byte
		sent   []byte
		want   instanceapi.Refusal
	}{
		"whole":            {good, good, ""},
		"none":             {good, nil, instanceapi.BadBody},
		"half":             {good, good[:len(good)/2], instanceapi.BadBody},
		"more":             {good, append(slices.Clone(good), 0), instanceapi.BadBody},
		"endless":          {good, slices.Repeat(good, 1000), instanceapi.BadBody},
		"another":          {good, slices.Repeat([]byte("x"), len(good)), instanceapi.BadBody},
		"no contents":      {[]byte("hello"), []byte("hello"), instanceapi.BadBody},
		"empty":            {[]byte{}, nil, instanceapi.BadBody},
		"a bomb":           {bomb.Bytes(), bomb.Bytes(), instanceapi.BadBody},
		"another revision": {mislabeled, mislabeled, instanceapi.BadBody},
		"a path":           {escaping("a/../../x.conf"), escaping("a/../../x.conf"), instanceapi.BadBody},
		"a folder":         {escaping(".."), escaping(".."), instanceapi.BadBody},
	} {
		for how, body := range map[string]io.Reader{"of a known length": bytes.NewReader(tt.sent), "of an unknown length": io.MultiReader(bytes.NewReader(tt.sent))} {
			r := newReceiver()
			var all []taken
			order := sign(t, nextOrder(r.Describe(), instanceapi.Requested{Load: revision}), tt.signed)
			got, refusal := r.Receive(streamed(order, body), takes(&all))
			if refusal != tt.want || (got.Load == revision) != (tt.want == "") || len(all) != map[bool]int{true: 1}[tt.want == ""] {
				t.Errorf("%s, %s: refused as %q, want %q: %+v", name, how, refusal, tt.want, all)
			}
		}
	}
}

// zeros is endless.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestUnsignedBodyIsNotRead: the body of an order that describes none, or that is refused, is not read.
func TestUnsignedBodyIsNotRead(t *testing.T) {
	r := newReceiver()
	var all []taken
	order := sign(t, nextOrder(r.Describe(), instanceapi.Requested{}), nil)
	unread := readerFunc(func([]byte) (int, error) {
		t.Error("the body is read")
		return 0, io.EOF
	})
	if _, refusal := r.Receive(streamed(order, unread), takes(&all)); refusal != "" || len(all) != 1 || all[0].contents != nil {
		t.Errorf("refused as %q: %+v", refusal, all)
	}
	forged := sign(t, nextOrder(r.Describe(), instanceapi.Requested{}), []byte("body"))
	forged.Signature = forged.Signature[:20] + strings.Repeat("0", len(forged.Signature)-20)
	if _, refusal := r.Receive(streamed(forged, unread), takes(&all)); refusal != instanceapi.BadSignature {
		t.Errorf("refused as %q", refusal)
	}
}

// readerFunc is a function that implements io.Reader.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestBusy: one body is received at a time. Meanwhile, an order without a body is accepted, and the slow order must not
// take its place.
func TestBusy(t *testing.T) {
	r := newReceiver()
	var all []taken
	body := encode(t, instanceapi.Contents{revision: files})
	order := func(load string, body []byte) instanceapi.SignedOrder {
		return sign(t, nextOrder(r.Describe(), instanceapi.Requested{Load: load}), body)
	}
	slow := order("slow", body)
	reader, writer := io.Pipe()
	end := make(chan instanceapi.Refusal)
	go func() {
		_, refusal := r.Receive(streamed(slow, reader), takes(&all))
		end <- refusal
	}()
	if _, err := writer.Write(body[:1]); err != nil { // It returns when the body is being read.
		t.Fatal(err)
	}
	if _, refusal := r.Receive(request(order("second", body)), takes(&all)); refusal != instanceapi.Busy {
		t.Errorf("refused as %q", refusal)
	}
	if _, refusal := r.Receive(request(order("fast", nil)), takes(&all)); refusal != "" {
		t.Errorf("refused as %q", refusal)
	}
	if _, err := writer.Write(body[1:]); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if refusal := <-end; refusal != instanceapi.Replayed {
		t.Errorf("the slow one is refused as %q", refusal)
	}
	if _, refusal := r.Receive(request(order("third", body)), takes(&all)); refusal != "" {
		t.Errorf("refused as %q", refusal)
	}
	if len(all) != 2 || all[0].requested.Load != "fast" || all[1].requested.Load != "third" {
		t.Errorf("taken: %+v", all)
	}
	wantCounts(t, r, 2, map[instanceapi.Refusal]int64{instanceapi.Busy: 1, instanceapi.Replayed: 1})
}

// TestSameNumber: of orders with the same number, one is accepted.
func TestSameNumber(t *testing.T) {
	const orders = 32
	r := newReceiver()
	var all []taken
	next := nextOrder(r.Describe(), instanceapi.Requested{})
	together(orders, func(int) { r.Receive(request(sign(t, next, nil)), takes(&all)) })
	if len(all) != 1 {
		t.Errorf("%d are taken", len(all))
	}
	wantCounts(t, r, 1, map[instanceapi.Refusal]int64{instanceapi.Replayed: orders - 1})
}

// TestNumbersGrow: orders at the same time are handed over in the order of their numbers.
func TestNumbersGrow(t *testing.T) {
	r := newReceiver()
	described := r.Describe()
	const orders = 64
	var mu sync.Mutex
	var numbers []int64
	together(orders, func(i int) {
		next := nextOrder(described, instanceapi.Requested{})
		next.Number += int64(i)
		r.Receive(request(sign(t, next, nil)), func(instanceapi.Order, instanceapi.Contents) instanceapi.Refusal {
			// The older an order is, the longer it takes.
			time.Sleep(time.Duration(orders-i) * 50 * time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, next.Number)
			return ""
		})
	})
	if len(numbers) == 0 || !slices.IsSorted(numbers) || r.Describe().Number != numbers[len(numbers)-1] {
		t.Errorf("taken: %v", numbers)
	}
}

// TestOrderAfterFollow: a pod follows until a later order comes, whatever the clock of its sender says.
func TestOrderAfterFollow(t *testing.T) {
	trust := trusted
	r := NewReceiver("p1", func() instanceapi.Trust { return trust })
	var all []taken
	receive := func() {
		t.Helper()
		order := r.Describe().Next(instanceapi.Requested{Load: "r2"}, time.UnixMilli(1))
		if _, refusal := r.Receive(request(sign(t, order, nil)), takes(&all)); refusal != "" {
			t.Errorf("refused as %s", refusal)
		}
	}
	if got := r.Follow(); got != "" {
		t.Errorf("it follows %q", got)
	}
	receive()
	trust.Follow = &instanceapi.Follow{Revision: "r1", Number: 1000, Pods: []string{"p1"}}
	if got := r.Follow(); got != "r1" {
		t.Errorf("it follows %q", got)
	}
	receive()
	if got := r.Follow(); got != "" {
		t.Errorf("it follows %q after a later order", got)
	}
	trust.Follow = &instanceapi.Follow{Revision: "r3", Number: 2000, Pods: []string{"p2"}}
	if got := r.Follow(); got != "" {
		t.Errorf("it follows %q in place of another pod", got)
	}
}

// together calls a function n times at the same time.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// TestProcess: two processes have different identities, so that an order is valid for one.
func TestProcess(t *testing.T) {
	a, b := newReceiver().Describe(), newReceiver().Describe()
	if len(a.Process) != 32 || a.Process == b.Process {
		t.Errorf("processes %q and %q", a.Process, b.Process)
	}
}

// TestFollow: a pod that may follow does so until a later order comes.
func TestFollow(t *testing.T) {
	trust := instanceapi.Trust{}
	r := NewReceiver("pod", func() instanceapi.Trust { return trust })
	for name, tt := range map[string]struct {
		follow *instanceapi.Follow
		want   string
	}{
		"nothing":            {nil, ""},
		"every pod may":      {&instanceapi.Follow{Revision: "r1", Number: 8}, "r1"},
		"this pod may":       {&instanceapi.Follow{Revision: "r1", Number: 8, Pods: []string{"other", "pod"}}, "r1"},
		"another pod may":    {&instanceapi.Follow{Revision: "r1", Number: 8, Pods: []string{"other"}}, ""},
		"an order is as new": {&instanceapi.Follow{Revision: "r1", Number: 7}, ""},
	} {
		r.number, trust.Follow = 7, tt.follow
		if got := r.Follow(); got != tt.want {
			t.Errorf("%s: follows %q, want %q", name, got, tt.want)
		}
	}
}
