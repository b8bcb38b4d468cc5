package instanceapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var somePurges = Purges{Since: 5, List: []Purge{
	{Number: 7, Owner: "u", All: true},
	{Number: 8, Targets: []Target{{Host: "h", Path: "/a", Query: "?b"}, {Host: "h", Path: "/", Below: true}}},
}}

func TestParsePurges(t *testing.T) {
	text, err := json.Marshal(somePurges)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParsePurges(text)
	if diff := cmp.Diff(somePurges, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for want, text := range map[string]string{
		"more than":                     strings.Repeat(" ", MaxPurges+1),
		"parse the purges":              `[]`,
		"purge 5 comes after 5":         `{"since":5,"purges":[{"number":5,"all":true}]}`,
		"purge 7 comes after 8":         `{"purges":[{"number":8,"all":true},{"number":7,"all":true}]}`,
		"purge 9999999999999 comes":     `{"purges":[{"number":9999999999999,"all":true}]}`,
		"the number -1 is not a time":   `{"since":-1}`,
		"either all, targets or tags":   `{"purges":[{"number":1}]}`,
		`unknown field "colour"`:        `{"purges":[{"number":1,"all":true,"colour":"red"}]}`,
		`the tag "a,b" is empty, or`:    `{"purges":[{"number":1,"tags":["a,b"]}]}`,
		"purge 1: it must have either":  `{"purges":[{"number":1,"all":true,"targets":[{"host":"h","path":"/"}]}]}`,
		`the host "" is not a name`:     `{"purges":[{"number":1,"targets":[{"path":"/"}]}]}`,
		`the host "../x" is not a name`: `{"purges":[{"number":1,"targets":[{"host":"../x","path":"/"}]}]}`,
		`the path "a" does not begin`:   `{"purges":[{"number":1,"targets":[{"host":"h","path":"a"}]}]}`,
		`"/a\x00" does not begin`:       `{"purges":[{"number":1,"targets":[{"host":"h","path":"/a\u0000"}]}]}`,
		`the query string "x" does not`: `{"purges":[{"number":1,"targets":[{"host":"h","path":"/a","query":"x"}]}]}`,
		"must end with a slash":         `{"purges":[{"number":1,"targets":[{"host":"h","path":"/a","below":true}]}]}`,
	} {
		if _, err := ParsePurges([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

func TestUpTo(t *testing.T) {
	for number, want := range map[int64]int64{0: 5, 6: 5, 7: 7, 8: 8, 100: 8} {
		if got := somePurges.UpTo(number).Last(); got != want {
			t.Errorf("up to %d, the last is %d, want %d", number, got, want)
		}
	}
	if got := somePurges.Last(); got != 8 {
		t.Errorf("the last is %d after UpTo", got)
	}
}

// TestPurgesAreNoOrders: purges are accepted twice, and neither they nor orders are accepted as the other.
func TestPurgesAreNoOrders(t *testing.T) {
	signed, err := SignPurges(currentKey, receiver, somePurges, time.UnixMilli(0))
	if err != nil {
		t.Fatal(err)
	}
	later := receiver
	later.Number = 1 << 40
	for _, r := range []Orders{receiver, receiver, later} {
		if order, refusal := r.VerifyPurges(trusted, signed.Order, signed.Signature); refusal != "" || !order.Body.Matches(signed.Body) {
			t.Errorf("refused as %q", refusal)
		}
	}
	if _, refusal := receiver.Verify(trusted, signed.Order, signed.Signature); refusal != BadSignature {
		t.Errorf("purges are accepted as an order: %q", refusal)
	}
	order := sign(t, currentKey, nextOrder(receiver, requested), []byte("{}"))
	if _, refusal := receiver.VerifyPurges(trusted, order.Order, order.Signature); refusal != BadSignature {
		t.Errorf("an order is accepted as purges: %q", refusal)
	}
}

// TestFlawedPurges: purges are refused for what orders are refused for, but for their number.
func TestFlawedPurges(t *testing.T) {
	for _, f := range flaws {
		if f.refusal == Replayed {
			continue
		}
		order := nextOrder(receiver, Requested{})
		if f.order != nil {
			f.order(&order)
		}
		body := []byte("{}")
		if order.Body != nil {
			body = nil
		}
		flawed, err := signFor(purposePurges, currentKey, order, body)
		if err != nil {
			t.Fatal(err)
		}
		if f.sent != nil {
			f.sent(&flawed)
		}
		if _, refusal := receiver.VerifyPurges(trusted, flawed.Order, flawed.Signature); refusal != f.refusal {
			t.Errorf("refused as %q, want %s", refusal, f.refusal)
		}
	}
}

// FuzzPurges: whatever is accepted has numbers that grow, and stays the same when it is encoded and decoded again.
func FuzzPurges(f *testing.F) {
	text, err := json.Marshal(somePurges)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"since":1}`))
	f.Add([]byte(`{"purges":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePurges(text)
		if err != nil {
			return
		}
		last := p.Since
		for _, purge := range p.List {
			if purge.Number <= last {
				t.Fatalf("%d comes after %d", purge.Number, last)
			}
			last = purge.Number
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParsePurges(again); err != nil || !cmp.Equal(p, got, cmpopts.EquateEmpty()) {
			t.Errorf("%v: %s", err, cmp.Diff(p, got, cmpopts.EquateEmpty()))
		}
	})
}
