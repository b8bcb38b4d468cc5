package signingkey

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// step renews data, and fails the test unless it changes as expected.
func step(t *testing.T, data map[string][]byte, now time.Time, changes bool) map[string][]byte {
	t.Helper()
	before := maps.Clone(data)
	next, changed, err := renewed(data, time.Hour, now)
	if err != nil || changed != changes {
		t.Fatalf("changed %t, want %t (%v)", changed, changes, err)
	}
	if !maps.EqualFunc(before, data, bytes.Equal) {
		t.Error("the data was modified")
	}
	return next
}

// TestRotation: a new key joins the one before, and takes the place of the one before that.
func TestRotation(t *testing.T) {
	first := step(t, nil, start, true)
	step(t, first, start.Add(time.Hour-time.Second), false)
	second := step(t, first, start.Add(time.Hour), true)
	third := step(t, second, start.Add(2*time.Hour), true)
	keys := [][]ed25519.PrivateKey{Parse(first), Parse(second), Parse(third)}
	if len(keys[0]) != 1 || len(keys[1]) != 2 || len(keys[2]) != 2 {
		t.Fatalf("there are %d, %d and %d keys", len(keys[0]), len(keys[1]), len(keys[2]))
	}
	if !keys[1][1].Equal(keys[0][0]) || !keys[2][1].Equal(keys[1][0]) || keys[2][0].Equal(keys[1][0]) {
		t.Error("the previous key is not the one that was current before")
	}
}

// TestUnusable: a key that cannot be used is replaced at once, and leaves nothing behind.
func TestUnusable(t *testing.T) {
	good := step(t, nil, start, true)
	without := func(name string) map[string][]byte {
		data := maps.Clone(good)
		delete(data, name)
		return data
	}
	with := func(name, value string) map[string][]byte {
		data := maps.Clone(good)
		data[name] = []byte(value)
		return data
	}
	for name, tt := range map[string]struct {
		data map[string][]byte
		// keys is how many there are afterwards.
		keys int
	}{
		"no data":                     {nil, 1},
		"an emptied Secret":           {map[string][]byte{}, 1},
		"garbage":                     {with(dataCurrent, "x"), 1},
		"another kind of PEM":         {with(dataCurrent, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 1},
		"no current key":              {without(dataCurrent), 1},
		"no time":                     {without(dataCreated), 2},
		"a time that cannot be read":  {with(dataCreated, "yesterday"), 2},
		"a time that is yet to come":  {with(dataCreated, start.Add(24*time.Hour).Format(time.RFC3339)), 2},
		"another kind of key":         {with(dataCurrent, string(ecdsaKey(t))), 1},
		"a time in a line":            {with(dataCreated, " "+start.Format(time.RFC3339)+"\n"), 0},
		"a clock that is ahead":       {with(dataCreated, start.Add(time.Minute).Format(time.RFC3339)), 0},
		"a time that is long ago":     {with(dataCreated, start.Add(-24*time.Hour).Format(time.RFC3339)), 2},
		"a previous key that is none": {with(dataPrevious, "x"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			next := step(t, tt.data, start, tt.keys > 0)
			if keys := Parse(next); tt.keys > 0 && len(keys) != tt.keys {
				t.Errorf("there are %d keys, want %d", len(keys), tt.keys)
			}
			step(t, next, start, false)
		})
	}
}

// ecdsaKey returns a private key of another kind.
func ecdsaKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})
}

// TestParseAll: the newest key comes first, and one that cannot be used is left out.
func TestParseAll(t *testing.T) {
	data := step(t, step(t, nil, start, true), start.Add(time.Hour), true)
	both := Parse(data)
	if text, err := format(both[0]); err != nil || !bytes.Equal(text, data[dataCurrent]) {
		t.Errorf("the newest key is not the first one: %v", err)
	}
	with := func(name string, value []byte) map[string][]byte {
		changed := maps.Clone(data)
		changed[name] = value
		return changed
	}
	for name, tt := range map[string]struct {
		data map[string][]byte
		want []ed25519.PrivateKey
	}{
		"a broken previous key": {with(dataPrevious, []byte("x")), both[:1]},
		"a broken current key":  {with(dataCurrent, []byte("x")), both[1:]},
		"another kind of key":   {with(dataCurrent, ecdsaKey(t)), both[1:]},
		"another entry":         {with("other.key", data[dataCurrent]), both},
		"text around a key":     {with(dataCurrent, slices.Concat([]byte("a\n"), data[dataCurrent], []byte("b\n"))), both},
	} {
		if got := Parse(tt.data); !slices.EqualFunc(got, tt.want, func(a, b ed25519.PrivateKey) bool { return a.Equal(b) }) {
			t.Errorf("%s: there are %d keys, want %d", name, len(got), len(tt.want))
		}
	}
}
