package signingkey

import (
	"crypto/ed25519"
	"maps"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// step renews data, and fails the test unless it changes as expected.
func step(t *testing.T, data map[string][]byte, now time.Time, changes bool) map[string][]byte {
	t.Helper()
	next, changed, err := renewed(data, time.Hour, now)
	if err != nil || changed != changes {
		t.Fatalf("changed %t, want %t (%v)", changed, changes, err)
	}
	return next
}

// TestRotation: a new key joins the one before, and takes the place of the one before that.
func TestRotation(t *testing.T) {
	first := step(t, nil, start, true)
	step(t, first, start.Add(time.Hour-time.Second), false)
	second := step(t, first, start.Add(time.Hour), true)
	third := step(t, second, start.Add(2*time.Hour), true)
	keys := [][]ed25519.PrivateKey{parseAll(first), parseAll(second), parseAll(third)}
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
		"a time that is long ago":     {with(dataCreated, start.Add(-24*time.Hour).Format(time.RFC3339)), 2},
		"a previous key that is none": {with(dataPrevious, "x"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			next := step(t, tt.data, start, tt.keys > 0)
			if keys := parseAll(next); tt.keys > 0 && len(keys) != tt.keys {
				t.Errorf("there are %d keys, want %d", len(keys), tt.keys)
			}
			step(t, next, start, false)
		})
	}
}
