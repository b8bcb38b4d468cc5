package instanceapi

import (
	"crypto/ed25519"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answer stands for a pod with arbitrary responses. It counts the requests, and how much of the
// response was read.
type answer struct {
	code     int
	location string
	body     string
	// times is how often the body is repeated.
	times         int
	queries, read int
}

// RoundTrip implements http.RoundTripper.
func (a *answer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.queries++
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Request: r,
		Header: http.Header{"Location": {a.location}}, Body: io.NopCloser(a),
	}, nil
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	if a.read >= len(a.body)*a.times {
		return 0, io.EOF
	}
	n := copy(p, a.body[a.read%len(a.body):])
	a.read += n
	return n, nil
}

// FuzzStatus: for any response of a pod, the client sends one request and reads no more than the
// bound, and a status that it accepts has a supported protocol and stays the same when it is
// encoded and decoded again.
func FuzzStatus(f *testing.F) {
	f.Add(200, "", `{"protocol":1,"serving":"r1","revisions":[{"revision":"r1","test":"Passed"}]}`, 1)
	f.Add(200, "", `{"protocol":2}`, 1)
	f.Add(200, "", "[", 1<<20)
	f.Add(302, "http://169.254.169.254/", "", 1)
	f.Add(200, "", `{"protocol":1,"certificates":[{"name":"a","notAfter":"9999-12-31T23:59:59+23:59"}],"reloads":{"failed":-1}}`, 1)
	f.Fuzz(func(t *testing.T, code int, location, body string, times int) {
		a := &answer{code: 100 + code&0x1ff, location: location, body: body, times: 1 + times&0x1fffff}
		client := NewClient(time.Minute)
		client.http.Transport = a
		status, err := client.Status(t.Context(), "10.0.0.1")
		if a.queries != 1 || a.read > MaxOldAnswer+512 {
			t.Errorf("it was queried %d times, and %d bytes were read", a.queries, a.read)
		}
		if err != nil {
			return
		}
		if status.Protocol < OldestProtocol || status.Protocol > Protocol {
			t.Errorf("protocol %d is understood", status.Protocol)
		}
		text, err := json.Marshal(status)
		if err != nil {
			t.Fatalf("what is understood cannot be written: %v", err)
		}
		again, err := DecodeStatus(text)
		if diff := cmp.Diff(status, again); err != nil || diff != "" {
			t.Errorf("it reads otherwise when it is written again (%v):\n%s", err, diff)
		}
	})
}

// FuzzRequests: windows that pass the check are consistent, alone and merged with those of many
// pods.
func FuzzRequests(f *testing.F) {
	f.Add(`{"seconds":60,"requests":3,"errors":1,"latency":[1,0,1]}`, 0.9)
	f.Add(`{"seconds":1,"requests":1099511627776,"errors":0,"latency":[1099511627776]}`, 0.5)
	f.Add(`{"requests":-1,"errors":-2}`, 1.0)
	f.Fuzz(func(t *testing.T, text string, q float64) {
		window, err := DecodeWindow([]byte(text))
		if err != nil {
			if len(err.Error()) > 300+len(text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		var all RequestWindow
		for range 10_000 {
			all.Merge(window)
		}
		checkSum(t, all, window, math.Abs(math.Mod(q, 1)))
	})
}

func checkSum(t *testing.T, all, window RequestWindow, q float64) {
	t.Helper()
	answered := all.Latency.Count()
	if all.Errors < 0 || all.Errors > all.Requests || answered < 0 || answered > all.Requests-all.Errors || all.Seconds != window.Seconds {
		t.Errorf("10,000 pods together have %+v", all)
	}
	if seconds := all.Latency.Quantile(q); !(seconds >= 0 && seconds <= bounds[len(bounds)-1]) {
		t.Errorf("quantile %v is %v s", q, seconds)
	}
	if above := all.Latency.Above(q); !(above >= 0 && above <= float64(answered)) {
		t.Errorf("%v of %d are longer than %v s", above, answered, q)
	}
}

// FuzzVerify: for any headers, nothing is accepted that the operator has not signed, and what is accepted satisfies all
// conditions.
func FuzzVerify(f *testing.F) {
	issued := map[signedHeaders]bool{}
	for _, key := range []ed25519.PrivateKey{currentKey, previousKey, keyOf("other")} {
		signed := sign(f, key, nextOrder(receiver, requested), []byte("body"))
		f.Add(signed.Order, signed.Signature, receiver.Uptime, receiver.Number)
		issued[signedHeaders{signed.Order, signed.Signature}] = slices.Contains(trusted.IDs(), KeyID(publicOf(key)))
	}
	f.Add("e30=", KeyID(publicOf(currentKey))+"."+strings.Repeat("0", 128), int64(0), int64(0))
	f.Add("", ".", int64(-1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, header, signature string, uptime, number int64) {
		r := receiver
		r.Uptime, r.Number = uptime, number
		order, refusal := r.Verify(trusted, header, signature)
		if refusal != "" {
			if !slices.Contains(Refusals, refusal) || order != (Order{}) {
				t.Errorf("refused as %q with %+v", refusal, order)
			}
			return
		}
		if !issued[signedHeaders{header, strings.ToLower(signature)}] {
			t.Errorf("%q is accepted with %q", header, signature)
		}
		if order.Number <= number || order.Expires < uptime || order.Expires-uptime > OrderLifetime.Milliseconds() || order.Body.Size > MaxBody {
			t.Errorf("%+v is accepted at %d after %d", order, uptime, number)
		}
	})
}

// signedHeaders are the two headers of an order.
type signedHeaders struct{ order, signature string }

// FuzzDecodeContents: for any body, what is decoded is bounded, and stays the same when it is encoded and decoded again.
func FuzzDecodeContents(f *testing.F) {
	f.Add([]byte(`{"r1":{"site.conf":"c2VydmVyIHt9"}}`), 1)
	f.Add([]byte(" "), MaxContents+1)
	f.Add(compress(f, `{"r1":{"a":"eA=="},"r2":{}}`, 1), 0)
	f.Add(compress(f, "[", 1<<16), 0)
	f.Fuzz(func(t *testing.T, body []byte, times int) {
		if times > 0 {
			body = compress(t, string(body), min(times, 2*MaxContents/(len(body)+1)))
		}
		c, err := DecodeContents(body)
		if err != nil {
			if c != nil || len(err.Error()) > 200 {
				t.Errorf("%d revisions beside %v", len(c), err)
			}
			return
		}
		size := sizeOf(c)
		// Only names can grow: an invalid byte becomes a character of three.
		if size > 3*MaxContents {
			t.Errorf("it has %d bytes", size)
		}
		if size > MaxContents/6 {
			return
		}
		again, err := EncodeContents(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeContents(again)
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("it reads otherwise when it is written again (%v):\n%s", err, diff)
		}
	})
}

func sizeOf(c Contents) (size int) {
	for revision, files := range c {
		size += len(revision)
		for name, text := range files {
			size += len(name) + len(text)
		}
	}
	return size
}
