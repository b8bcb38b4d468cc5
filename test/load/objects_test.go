package load

import (
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestZipf: objects are chosen as often as the law says, and the same ones with the same seed.
func TestZipf(t *testing.T) {
	const count, requests = 1000, 200_000
	o := &Objects{Count: count, Exponent: 1, Seed: 1}
	law := o.law()
	// The sum of 1/k for the first thousand numbers.
	const harmonic = 7.485470861
	chosen := make([]int, count)
	choose, again, other := o.random(law, 7), o.random(law, 7), o.random(law, 8)
	alike := 0
	for range requests {
		object, _ := choose()
		if repeated, _ := again(); repeated != object {
			t.Fatalf("object %d is chosen, and %d with the same seed", object, repeated)
		}
		if different, _ := other(); different == object {
			alike++
		}
		chosen[object]++
	}
	if alike == requests {
		t.Error("two clients choose alike")
	}
	for _, k := range []int{0, 1, 9, 99} {
		want := 1 / float64(k+1) / harmonic
		if got := float64(chosen[k]) / requests; math.Abs(got-want) > 5*math.Sqrt(want/requests) {
			t.Errorf("object %d is chosen in %.4f of the requests, want %.4f", k, got, want)
		}
		if got := o.Share([]int{k}); math.Abs(got-want) > 1e-6 {
			t.Errorf("the share of object %d is %.6f, want %.6f", k, got, want)
		}
	}
}

func TestObjectOfEnds(t *testing.T) {
	law := (&Objects{Count: 4}).law()
	for u, want := range map[float64]int{0: 0, 0.2499: 0, 0.25: 1, 0.75: 3, 0.9999999999: 3} {
		if got := law.object(u); got != want {
			t.Errorf("%v gives object %d, want %d", u, got, want)
		}
	}
}

func TestParseCacheStatus(t *testing.T) {
	for _, tt := range []struct {
		headers []string
		want    cached
	}{
		{nil, cached{}},
		{[]string{"edge-0; hit"}, cached{place: fromEdge}},
		{[]string{"edge-0; hit; fwd=stale"}, cached{place: fromEdge}},
		{[]string{"edge-0; fwd=uri-miss"}, cached{place: fromOrigin}},
		{[]string{"shard-1; hit, edge-0; fwd=uri-miss"}, cached{fromShard, "shard-1"}},
		{[]string{"shard-1; fwd=uri-miss, edge-0; fwd=uri-miss"}, cached{fromOrigin, "shard-1"}},
		{[]string{"shard-1;fwd=uri-miss", "edge-0;fwd=uri-miss"}, cached{fromOrigin, "shard-1"}},
		{[]string{"shard-1; hit, shard-4; fwd=uri-miss, edge-0; fwd=uri-miss"}, cached{fromShard, "shard-4"}},
		{[]string{"hit-1; fwd=uri-miss, edge-0; detail=hit"}, cached{fromOrigin, "hit-1"}},
	} {
		if got := parseCacheStatus(http.Header{"Cache-Status": tt.headers}); got != tt.want {
			t.Errorf("%q is %+v, want %+v", tt.headers, got, tt.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	var line timeline
	line.add(2500*time.Millisecond, false, fromShard)
	line.add(0, false, fromEdge)
	line.add(2*time.Second, true, nowhere)
	line.add(2999*time.Millisecond, false, fromOrigin)
	line.add(2999*time.Millisecond, false, nowhere)
	line.add(maxTimeline*time.Second, false, fromEdge)
	want := timeline{{Requests: 1, Edge: 1}, {}, {Requests: 4, Failed: 1, Shard: 1, Origin: 1}}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

// recorder answers with the path, and counts the requests of each.
type recorder struct {
	mu    sync.Mutex
	paths map[string]int
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths[request.URL.Path]++
	shard := "even"
	if strings.HasSuffix(request.URL.Path, "1") || strings.HasSuffix(request.URL.Path, "3") {
		shard = "odd"
	}
	w.Header().Set("Cache-Status", shard+"; hit, edge; fwd=uri-miss")
	_, _ = fmt.Fprintf(w, "%s and %s\n", request.URL.Path, request.URL.Path)
}

// runObjects starts a load on a recorder and waits until it ends by itself.
func runObjects(t *testing.T, options Options) (Report, map[string]int) {
	t.Helper()
	handler := &recorder{paths: map[string]int{}}
	server := httptest.NewServer(handler)
	defer server.Close()
	options.Targets = []string{server.Listener.Addr().String()}
	r, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the load does not end")
	}
	return r.Stop(), handler.paths
}

// TestOnce: all clients together request each object once, and the report says where each came from.
func TestOnce(t *testing.T) {
	report, paths := runObjects(t, Options{
		Objects:  &Objects{Count: 5, Once: true, Owners: true},
		Timeline: true,
		Clients:  []Clients{{Count: 3, KeepAlive: true, Path: "/o/{object}", Expect: "/o/{object} and /o/{object}\n"}},
	})
	if diff := cmp.Diff(map[string]int{"/o/0": 1, "/o/1": 1, "/o/2": 1, "/o/3": 1, "/o/4": 1}, paths); diff != "" {
		t.Error(diff)
	}
	if report.Failed != 0 {
		t.Errorf("the report is %v", report)
	}
	if diff := cmp.Diff(map[string][]int{"even": {0, 2, 4}, "odd": {1, 3}}, report.Owners); diff != "" {
		t.Error(diff)
	}
	var sum Second
	for _, s := range report.Timeline {
		sum = sum.Add(s)
	}
	if sum.Requests != 5 || sum.Shard != 5 {
		t.Errorf("the timeline is %+v", report.Timeline)
	}
}

// TestBodyOfAnotherObject: an answer with another object's body is a failure.
func TestBodyOfAnotherObject(t *testing.T) {
	report, _ := runObjects(t, Options{
		Objects: &Objects{Count: 5, Once: true},
		Clients: []Clients{{Path: "/o/{object}", Expect: "/o/{object} and /o/1\n"}},
	})
	if report.Failures[WrongBody] != 4 {
		t.Errorf("the report is %v", report)
	}
}

// TestSum: a body is compared by its sum, and a client ends after its requests.
func TestSum(t *testing.T) {
	right := fmt.Sprintf("%x", crc32.ChecksumIEEE([]byte("/a and /a\n")))
	for sum, failed := range map[string]int64{right: 0, "1234": 6} {
		report, _ := runObjects(t, Options{Clients: []Clients{{Count: 3, Requests: 2, Path: "/a", ExpectSum: sum}}})
		if report.Requests != 6 || report.Failed != failed {
			t.Errorf("with the sum %s, the report is %v", sum, report)
		}
	}
}
