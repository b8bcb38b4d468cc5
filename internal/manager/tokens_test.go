package manager

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnknownTokens: clients without a token that the API server accepts make it answer a bounded number of questions. One with
// such a token is always answered, and so is a client at another address that has none yet.
func TestUnknownTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queries := 0
		handler := limitTokens(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			queries++
			if r.Header.Get("Authorization") != "Bearer good" {
				http.Error(w, "Authentication failed", http.StatusInternalServerError)
			}
		}))
		scrape := func(address, token string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.RemoteAddr = address
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		if code := scrape("192.0.2.1:1", "good"); code != http.StatusOK {
			t.Errorf("a good token is answered %d", code)
		}
		queries = 0
		const requests = 1000
		for i := range requests {
			scrape("192.0.2.2:1", strconv.Itoa(i))
		}
		if queries > tokensBurst || scrape("192.0.2.2:1", "good") != http.StatusOK {
			t.Errorf("the API server gets queries about %d unknown tokens", queries)
		}
		time.Sleep(time.Second)
		if code := scrape("192.0.2.3:1", "another"); code != http.StatusInternalServerError {
			t.Errorf("a client at another address is answered %d, although the API server got no query", code)
		}
		queries = 0
		for i := range requests {
			scrape("192.0.2."+strconv.Itoa(i%200)+":1", strconv.Itoa(i))
		}
		if queries > 2*allTokens {
			t.Errorf("of many addresses, the API server gets queries about %d unknown tokens", queries)
		}
	})
}

// TestReserveForProvenAddresses: while many addresses send invented tokens, a client that the API server has accepted before
// can change its token. A client that may not read metrics, or that was accepted long ago, has no part of the reserve.
func TestReserveForProvenAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		codes := map[string]int{"Bearer good": http.StatusOK, "Bearer rotated": http.StatusOK, "Bearer other": http.StatusForbidden}
		handler := limitTokens(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			code, known := codes[r.Header.Get("Authorization")]
			if !known {
				code = http.StatusInternalServerError
			}
			w.WriteHeader(code)
		}))
		scrape := func(address, token string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.RemoteAddr = address + ":1"
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		flood := func() {
			for i := range 2 * allTokens {
				scrape("198.51.100."+strconv.Itoa(i), strconv.Itoa(i))
			}
		}
		const proven = 100
		for i := range proven {
			scrape("192.0.2."+strconv.Itoa(i), "good")
		}
		scrape("192.0.2.200", "other")
		time.Sleep(time.Minute)
		flood()
		for _, address := range []string{"192.0.2.200", "192.0.2.201"} {
			if code := scrape(address, "rotated"); code != http.StatusTooManyRequests {
				t.Errorf("%s is answered %d", address, code)
			}
		}
		if code := scrape("192.0.2.1", "rotated"); code != http.StatusOK {
			t.Errorf("a client with a new token is answered %d", code)
		}
		accepted := 0
		for i := range proven {
			if scrape("192.0.2."+strconv.Itoa(i), strconv.Itoa(i)) != http.StatusTooManyRequests {
				accepted++
			}
		}
		if accepted > tokensBurst {
			t.Errorf("the API server gets queries about %d invented tokens of proven addresses", accepted)
		}
		time.Sleep(2 * provenTime)
		flood()
		if code := scrape("192.0.2.1", "new"); code != http.StatusTooManyRequests {
			t.Errorf("long after its last good token, a client is answered %d", code)
		}
	})
}
