package instanceapi

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContents: contents arrive as they were sent.
func TestContents(t *testing.T) {
	for name, c := range map[string]Contents{
		"none":    {},
		"no file": {"r1": {}},
		"two":     {"r1": {"site.conf": "server {}", "b.conf": ""}, "r2": {"site.conf": "a\tb\n\"<é\u2028\x00\xff"}},
	} {
		body, err := EncodeContents(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeContents(body)
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%s (%v): -want +got:\n%s", name, err, diff)
		}
	}
}

// TestLargestContents: two configurations of the largest size fit into an order, whatever bytes they are.
func TestLargestContents(t *testing.T) {
	const most = 900 << 10
	random := rand.New(rand.NewPCG(1, 2))
	anyBytes := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(random.IntN(256))
		}
		return string(text)
	}
	for _, unit := range []string{"x", "<", "&", `"`, "\n", "\t", "é", "\u2028", "\x01", "\x7f", "\xff", anyBytes(most)} {
		text := strings.Repeat(unit, most/len(unit))
		c := Contents{"r1": {"a.conf": text}, "r2": {"a.conf": text}}
		if len(unit) == most {
			c["r2"]["a.conf"] = anyBytes(most)
		}
		body, err := EncodeContents(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeContents(body); err != nil || len(body) > MaxBody || !cmp.Equal(c, got) {
			t.Errorf("%.10q: %d bytes (%v)", unit, len(body), err)
		}
	}
}

func compress(t testing.TB, text string, times int) []byte {
	t.Helper()
	var body bytes.Buffer
	writer := gzip.NewWriter(&body)
	if _, err := writer.Write(bytes.Repeat([]byte(text), times)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func TestDecodeContentsRefuses(t *testing.T) {
	good := compress(t, `{"r1":{"a":"eA=="}}`, 1)
	for name, tt := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":           {nil, "decompress"},
		"no gzip":           {[]byte(`{"r1":{"a":"eA=="}}`), "decompress"},
		"half":              {good[:len(good)/2], "decompress"},
		"without its sum":   {good[:len(good)-4], "decompress"},
		"trailing bytes":    {append(bytes.Clone(good), "more"...), "decompress"},
		"no JSON":           {compress(t, "hello", 1), "not JSON"},
		"no base64":         {compress(t, `{"r1":{"a":"server {}"}}`, 1), "not JSON with base64"},
		"another JSON":      {compress(t, `{"r1":["a"]}`, 1), "not JSON"},
		"two":               {compress(t, `{"r1":{"a":"eA=="}}`, 2), "not JSON"},
		"bomb":              {compress(t, " ", MaxContents+1), "longer than"},
		"bomb in many gzip": {bytes.Repeat(compress(t, strings.Repeat(" ", 1<<20), 1), 5), "longer than"},
	} {
		if got, err := DecodeContents(tt.body); err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
			t.Errorf("%s: %d revisions (%v), want an error with %q", name, len(got), err, tt.want)
		}
	}
	if _, err := DecodeContents(compress(t, " ", MaxContents-2)); err == nil || strings.Contains(err.Error(), "longer than") {
		t.Errorf("error %v", err)
	}
}
