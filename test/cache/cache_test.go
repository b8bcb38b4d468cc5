//go:build instance

package cache

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/test/internal/kubetest"
)

// TestStored: what RFC 9111 allows a shared cache to store is stored, and nothing else.
func TestStored(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, tt := range map[string]struct {
		headers []string
		request []string
		stored  bool
	}{
		"nothing said":               {nil, nil, true},
		"max-age":                    {[]string{"Cache-Control", "public, max-age=60"}, nil, true},
		"s-maxage":                   {[]string{"Cache-Control", "max-age=0, s-maxage=60"}, nil, true},
		"ten years":                  {[]string{"Cache-Control", "public, max-age=315360000"}, nil, true},
		"more than can be counted":   {[]string{"Cache-Control", "s-maxage=99999999999999999999"}, nil, true},
		"leading zeros":              {[]string{"Cache-Control", `max-age="0000000000060"`}, nil, true},
		"only zeros":                 {[]string{"Cache-Control", "max-age=000000000000"}, nil, false},
		"an end of freshness":        {[]string{"Expires", "Thu, 31 Dec 2037 23:55:55 GMT"}, nil, true},
		"varies with a header":       {[]string{"Vary", "Accept-Language"}, []string{"Accept-Language", "de"}, true},
		"max-age=0":                  {[]string{"Cache-Control", "max-age=0"}, nil, false},
		"s-maxage=0":                 {[]string{"Cache-Control", "max-age=60, s-maxage=0"}, nil, false},
		"not a number":               {[]string{"Cache-Control", "max-age=x"}, nil, false},
		"a negative number":          {[]string{"Cache-Control", "max-age=-1"}, nil, false},
		"private":                    {[]string{"Cache-Control", "private, max-age=60"}, nil, false},
		"private of a field":         {[]string{"Cache-Control", `private="x-user", max-age=60`}, nil, false},
		"private after a semicolon":  {[]string{"Cache-Control", "max-age=60;private"}, nil, false},
		"no-store in another header": {[]string{"Cache-Control", "max-age=60", "Cache-Control", "No-Store"}, nil, false},
		"no-cache":                   {[]string{"Cache-Control", "no-cache"}, nil, false},
		"a cookie":                   {[]string{"Set-Cookie", "id=1", "Cache-Control", "max-age=60"}, nil, false},
		"varies with everything":     {[]string{"Vary", "Accept-Encoding, *", "Cache-Control", "max-age=60"}, nil, false},
		"expired":                    {[]string{"Expires", "Thu, 01 Jan 1970 00:00:00 GMT"}, nil, false},
		"has been in a cache":        {[]string{"Age", "5", "Cache-Control", "max-age=60"}, nil, false},
		"a stream of events":         {[]string{"Content-Type", "text/event-stream"}, nil, false},
		"the origin's own control":   {[]string{"X-Accel-Expires", "60", "Cache-Control", "private"}, nil, false},
		"a request with a cookie":    {nil, []string{"Cookie", "session=1"}, false},
		"a request with credentials": {nil, []string{"Authorization", "Basic eDp5"}, false},
	} {
		path := with("/"+strings.ReplaceAll(name, " ", "-"), tt.headers...)
		first, second := s.get(t, path, tt.request...), s.get(t, path, tt.request...)
		if (first.body == second.body) != tt.stored {
			t.Errorf("%s: %q, then %q (%s)", name, first.body, second.body, second.header.Get("Cache-Status"))
		}
	}
}

// TestHeaders: a client gets what the origin said, how old the answer is, and which caches it passed.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	path := with("/a", "Cache-Control", "public, max-age=60", "Etag", `"1"`)
	before := time.Now().Unix()
	first := s.get(t, path)
	took := time.Now().Unix() - before
	var second answer
	poll().Eventually(t, "a second has passed", func() error {
		second = s.get(t, path)
		if age, err := strconv.Atoi(second.header.Get("Age")); err != nil || age < 1 {
			return fmt.Errorf("the age is %q", second.header.Get("Age"))
		}
		return nil
	})
	if got := first.header.Get("Cache-Status"); strings.Count(got, "fwd=uri-miss") != 2 {
		t.Errorf("at first, Cache-Status is %q", got)
	}
	first.ageIsUpTo(t, took)
	if got := second.header.Get("Cache-Status"); !strings.HasSuffix(got, "; hit") || strings.Contains(got, ",") {
		t.Errorf("Cache-Status of a hit is %q", got)
	}
	if got := second.header.Get("Cache-Control"); got != "public, max-age=60" || second.header.Get("Expires") != "" {
		t.Errorf("Cache-Control is %q, Expires %q", got, second.header.Get("Expires"))
	}
	for name := range second.header {
		if internalHeader.MatchString(name) {
			t.Errorf("the client sees %s", name)
		}
	}
}

// ageIsUpTo checks the age of an answer that was not stored before. A second may begin between the gateway and the edge.
func (a answer) ageIsUpTo(t *testing.T, seconds int64) {
	t.Helper()
	if age, err := strconv.ParseInt(a.header.Get("Age"), 10, 64); err != nil || age < 0 || age > seconds {
		t.Errorf("at first, Age is %q, after %d s", a.header.Get("Age"), seconds)
	}
}

// internalHeader matches the names of headers between the tiers.
var internalHeader = regexp.MustCompile(`^X-(Cache|Accel)-`)

// TestKey: what makes no difference to the key makes none to the answer, because the origin does not get it.
func TestKey(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		include := v1alpha1.QueryParameters{Include: []string{"v"}}
		spec.Rules = []v1alpha1.Rule{
			{Match: v1alpha1.Match{PathPrefix: new("/static/")}, Key: &v1alpha1.Key{QueryParameters: include}},
			{Match: v1alpha1.Match{PathPrefix: new("/public/")}, IgnoreCookies: new(true)},
			{Match: v1alpha1.Match{PathRegularExpression: new(`^/img/[a-z]+$`)}, Bypass: new(true)},
		}
	})
	s.get(t, "/static/a?utm=x&v=1&V=2&v=3", "X-Forwarded-Host", "evil", "X-Original-URL", "/evil", "X-Cache-Lookup", "EXPIRED")
	s.get(t, "/static/a?v=1")
	received := s.origin.received("/static/a")
	if len(received) != 1 || received[0].URL.RawQuery != "v=1" {
		t.Fatalf("the origin received %d requests, the first with %q", len(received), received[0].URL.RawQuery)
	}
	for name, want := range map[string]string{"X-Forwarded-Host": "127.0.0.1", "X-Original-Url": "", "X-Cache-Lookup": ""} {
		if got := received[0].Header.Get(name); got != want {
			t.Errorf("the origin received %s: %q", name, got)
		}
	}
	s.get(t, "/public/a", "Cookie", "session=1")
	s.get(t, "/public/a", "Cookie", "session=2")
	if received := s.origin.received("/public/a"); len(received) != 1 || received[0].Header.Get("Cookie") != "" {
		t.Errorf("the origin received %d requests with cookies that make no difference, the first with %q", len(received), received[0].Header.Get("Cookie"))
	}
	// A line break does not make the rest of a path the start of one.
	if first, second := s.get(t, "/account%0A/img/a"), s.get(t, "/account%0A/img/a"); first.body != second.body {
		t.Error("a rule was applied to the path behind a line break")
	}
	if plain, secure := s.get(t, "/s"), s.get(t, "/s", "X-Forwarded-Proto", "https"); plain.body == secure.body {
		t.Error("http and https have the same answer, which may be a redirect from one to the other")
	}
}

// TestStale: an object that is no longer fresh is the answer if its origin fails, until the origin says that it is gone.
func TestStale(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	path := with("/a", "Cache-Control", "max-age=1")
	strict := with("/strict", "Cache-Control", "max-age=1, must-revalidate")
	stored := s.get(t, path)
	s.get(t, strict)
	s.origin.setStatus("/a", http.StatusServiceUnavailable)
	s.origin.setStatus("/strict", http.StatusServiceUnavailable)
	poll().Eventually(t, "the origin was requested again", func() error {
		if got := s.get(t, path); got.body != stored.body {
			t.Fatalf("the answer is %d %q", got.status, got.body)
		}
		if n := len(s.origin.received("/a")); n < 2 {
			return fmt.Errorf("it has received %d requests", n)
		}
		return nil
	})
	poll().Eventually(t, "what must be validated is not answered stale", func() error {
		if got := s.get(t, strict); got.status != http.StatusBadGateway {
			return fmt.Errorf("the status is %d", got.status)
		}
		return nil
	})
	if got := s.get(t, "/new"); got.status != http.StatusOK {
		t.Errorf("another object is answered with %d", got.status)
	}
	s.origin.setStatus("/a", http.StatusNotFound)
	poll().Eventually(t, "the object is gone", func() error {
		if got := s.get(t, path); got.status != http.StatusNotFound {
			return fmt.Errorf("the status is %d", got.status)
		}
		return nil
	})
}

// TestRepeated: a request that changes something reaches the origin once, whatever happens to a shard.
func TestRepeated(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var group sync.WaitGroup
	group.Go(func() { s.send(t, http.MethodPost, "/pay?delay=500ms") })
	poll().Eventually(t, "the origin has the request", func() error {
		if len(s.origin.received("/pay")) == 0 {
			return fmt.Errorf("it has received none")
		}
		return nil
	})
	must(t, s.shard.Process.Signal(syscall.SIGTERM))
	group.Wait()
	if n := len(s.origin.received("/pay")); n != 1 {
		t.Errorf("the origin received it %d times", n)
	}
	if got := s.get(t, "/a"); got.status != http.StatusOK || s.get(t, "/a").body != got.body {
		t.Errorf("without a shard, the edge answers %d, and stores nothing", got.status)
	}
}

// TestCollapse: many clients that request an object at once cost its origin one request.
func TestCollapse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if got := s.get(t, "/a?delay=300ms"); got.status != http.StatusOK {
				t.Errorf("the status is %d", got.status)
			}
		})
	}
	group.Wait()
	if n := len(s.origin.received("/a")); n != 1 {
		t.Errorf("the origin received %d requests", n)
	}
}

func poll() kubetest.Poll {
	return kubetest.Poll{Timeout: 20 * time.Second, Interval: 50 * time.Millisecond}
}

// TestEdgeStoresByChance: an edge stores one of four answers of the shards, but always what replaces an object that it has.
func TestEdgeStoresByChance(t *testing.T) {
	t.Parallel()
	in := declare(func(spec *v1alpha1.NginxCacheSpec) { spec.Defaults.StaleWhileRevalidate = "1h" })
	s := &tiers{origin: newOrigin(t), chance: true}
	s.start(t, in, map[string]string{"shard.test": freePorts(t, 1)[0]})
	passed := 0
	for n := range 8 {
		path := with(fmt.Sprintf("/a/%d", n), "Cache-Control", "max-age=2")
		poll().Eventually(t, "the edge has "+path, func() error {
			if status := s.get(t, path).header.Get("Cache-Status"); strings.Contains(status, ",") {
				passed++
				return fmt.Errorf("Cache-Status is %q", status)
			}
			return nil
		})
		s.origin.setStatus(fmt.Sprintf("/a/%d", n), http.StatusNotFound)
	}
	if passed <= 8 {
		t.Errorf("8 objects were stored after %d requests", passed)
	}
	time.Sleep(3 * time.Second)
	// Both tiers update in the background, one after the other.
	var last [8]answer
	for range 5 {
		for n := range last {
			last[n] = s.send(t, http.MethodGet, with(fmt.Sprintf("/a/%d", n), "Cache-Control", "max-age=2"))
		}
		time.Sleep(500 * time.Millisecond)
	}
	for n := range last {
		if last[n].status != http.StatusNotFound {
			t.Errorf("object %d is gone, and the edge answers with %d (%s)", n, last[n].status, last[n].header.Get("Cache-Status"))
		}
	}
}
