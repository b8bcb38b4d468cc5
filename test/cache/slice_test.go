//go:build instance

package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

// sliceSize is the size of the slices in these tests, and bodySize that of an object: four and a half slices.
const (
	sliceSize = 64 << 10
	bodySize  = sliceSize*4 + sliceSize/2
)

func startSliced(t *testing.T) *tiers {
	t.Helper()
	return start(t, sliced)
}

func sliced(spec *v1alpha1.NginxCacheSpec) {
	spec.Defaults.Slice = new(*resource.NewQuantity(sliceSize, resource.BinarySI))
	spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/whole/")}, Slice: new(resource.MustParse("0"))}}
}

// object returns a text of which no two parts are the same.
func object(size int, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, seed))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(strconv.FormatUint(random.Uint64(), 36))
	}
	return b.String()[:size]
}

// ranges returns the header Range of all requests that the origin has received for a path.
func (o *origin) ranges(path string) (all []string) {
	for _, r := range o.received(path) {
		all = append(all, r.Header.Get("Range"))
	}
	return all
}

// TestSlices: whatever part of an object a client requests, it gets the right bytes, and the origin sends each slice once.
func TestSlices(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 1)
	last := strconv.Itoa(bodySize - 1)
	for name, tt := range map[string]struct {
		headers  []string
		status   int
		from, to int
		slices   int
	}{
		"the whole":               {nil, 200, 0, bodySize, 5},
		"inside a slice":          {[]string{"Range", "bytes=200000-200009"}, 206, 200000, 200010, 1},
		"across slices":           {[]string{"Range", "bytes=65530-65545"}, 206, 65530, 65546, 2},
		"to the end":              {[]string{"Range", "bytes=290000-"}, 206, 290000, bodySize, 1},
		"the end":                 {[]string{"Range", "bytes=-10"}, 206, bodySize - 10, bodySize, 2},
		"more than there is":      {[]string{"Range", "bytes=0-9999999"}, 206, 0, bodySize, 5},
		"the last byte":           {[]string{"Range", "bytes=" + last + "-" + last}, 206, bodySize - 1, bodySize, 1},
		"several ranges":          {[]string{"Range", "bytes=0-1,70000-70001"}, 200, 0, bodySize, 5},
		"not a range":             {[]string{"Range", "lines=1-2"}, 200, 0, bodySize, 5},
		"if it is the same":       {[]string{"Range", "bytes=200000-200009", "If-Range", `"v1"`}, 206, 200000, 200010, 2},
		"if it is another":        {[]string{"Range", "bytes=200000-200009", "If-Range", `"v0"`}, 200, 0, bodySize, 5},
		"if it is newer":          {[]string{"If-None-Match", `"v0"`}, 200, 0, bodySize, 5},
		"that the client has":     {[]string{"If-None-Match", `"v1"`}, 304, 0, 0, 1},
		"after the end":           {[]string{"Range", "bytes=400000-"}, 416, 0, 0, -1},
		"a part that client has":  {[]string{"Range", "bytes=0-9", "If-None-Match", `"v1"`}, 304, 0, 0, 1},
		"a part of another state": {[]string{"Range", "bytes=0-9", "If-Match", `"v0"`}, 412, 0, 0, -1},
	} {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		s.origin.setFile(path, file{etag: `"v1"`, body: body})
		for range 3 {
			s.wantPart(t, path, tt.headers, tt.status, body, tt.from, tt.to)
		}
		ranges := s.origin.ranges(path)
		if tt.slices >= 0 && len(ranges) != tt.slices {
			t.Errorf("%s: the origin received %q", name, ranges)
		}
		for _, r := range ranges {
			if first, _ := strconv.Atoi(strings.TrimPrefix(strings.Split(r, "-")[0], "bytes=")); r == "" || first%sliceSize != 0 {
				t.Errorf("%s: the origin received a request for %q", name, r)
			}
		}
	}
}

// wantPart fails the test unless the answer has a status, and a part of an object.
func (s *tiers) wantPart(t *testing.T, path string, headers []string, status int, body string, from, to int) {
	t.Helper()
	got := s.get(t, path, headers...)
	if got.status != status || status < 300 && got.body != body[from:to] {
		t.Fatalf("%s: it is %d with %d bytes (%v)", path, got.status, len(got.body), got.header)
	}
	contentRange := map[int]string{206: fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(body)), 416: fmt.Sprintf("bytes */%d", len(body))}
	if want := contentRange[status]; got.header.Get("Content-Range") != want {
		t.Errorf("%s: Content-Range is %q, want %q", path, got.header.Get("Content-Range"), want)
	}
}

// TestSlicesOfOthers: what is not an object with ranges is answered as it is without slices.
func TestSlicesOfOthers(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 2)
	s.origin.setFile("/no-ranges", file{etag: `"v1"`, body: body, whole: true})
	s.origin.setFile("/small", file{etag: `"v1"`, body: "small"})
	s.origin.setFile("/empty", file{etag: `"v1"`})
	s.origin.setFile("/whole/a", file{etag: `"v1"`, body: body})
	for range 2 {
		for path, want := range map[string]string{"/no-ranges": body, "/small": "small", "/empty": "", "/whole/a": body} {
			if got := s.get(t, path); got.status != http.StatusOK || got.body != want {
				t.Errorf("%s: %d with %d bytes", path, got.status, len(got.body))
			}
			if n := len(s.origin.received(path)); n != 1 {
				t.Errorf("%s: the origin received %q", path, s.origin.ranges(path))
			}
		}
	}
}

// TestSlicesOfRequests: requests that are not for an object's bytes, or that go around the caches, are answered as without
// slices.
func TestSlicesOfRequests(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 2)
	s.origin.setFile("/small", file{etag: `"v1"`, body: "small"})
	s.origin.setFile("/head", file{etag: `"v1"`, body: body})
	s.origin.setFile("/cookie", file{etag: `"v1"`, body: body})
	for range 2 {
		if got := s.send(t, http.MethodHead, "/head"); got.header.Get("Content-Length") != strconv.Itoa(bodySize) || got.body != "" {
			t.Errorf("HEAD: %v", got.header)
		}
	}
	if got := s.origin.ranges("/head"); len(got) != 1 {
		t.Errorf("HEAD: the origin received %q", got)
	}
	if got := s.get(t, "/cookie", "Cookie", "a=b", "Range", "bytes=70000-70009"); got.body != body[70000:70010] {
		t.Errorf("with a cookie: %d with %d bytes", got.status, len(got.body))
	}
	s.origin.setStatus("/gone", http.StatusNotFound)
	if got := s.get(t, "/gone", "Range", "bytes=70000-70009"); got.status != http.StatusNotFound {
		t.Errorf("what is not there: %d", got.status)
	}
	s.origin.setStatus("/endless", http.StatusPartialContent)
	if got, err := s.try(t, http.MethodGet, with("/endless", "Content-Range", "bytes 0-1/*", "Etag", `"v1"`)); err == nil && got.status < 500 {
		t.Errorf("a part of an unknown length: %d", got.status)
	}
	if got := s.send(t, http.MethodPost, "/small", "Range", "bytes=9-"); got.status != http.StatusRequestedRangeNotSatisfiable || len(s.origin.received("/small")) != 1 {
		t.Errorf("POST: %d, and the origin received %d requests", got.status, len(s.origin.received("/small")))
	}
}

// TestSlicesNotStored: parts of which nothing says that they are of the same object are passed on, and not stored.
func TestSlicesNotStored(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 3)
	for path, etag := range map[string]string{"/none": "", "/weak": `W/"v1"`} {
		s.origin.setFile(path, file{etag: etag, body: body})
		for range 2 {
			if got := s.get(t, path); got.status != http.StatusOK || got.body != body {
				t.Errorf("%s: %d with %d bytes", path, got.status, len(got.body))
			}
		}
		if n := len(s.origin.received(path)); n != 10 {
			t.Errorf("%s: the origin received %d requests", path, n)
		}
	}
}

// TestSlicesChange: an object that its origin has changed is not mixed with what is stored of it. A purge removes all
// slices.
func TestSlicesChange(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	before, after := object(bodySize, 4), object(bodySize, 5)
	s.origin.setFile("/a", file{etag: `"v1"`, body: before})
	s.get(t, "/a", "Range", "bytes=0-70000")
	s.origin.setFile("/a", file{etag: `"v2"`, body: after})
	for range 2 {
		if got, err := s.try(t, http.MethodGet, "/a"); err == nil || !strings.HasPrefix(before, got.body) {
			t.Errorf("the answer is %d with %d bytes: %v", got.status, len(got.body), err)
		}
	}
	s.purge(t, instanceapi.Target{Path: "/a"})
	for range 2 {
		if got := s.get(t, "/a"); got.body != after {
			t.Errorf("after the purge, the answer is %d with %d bytes", got.status, len(got.body))
		}
	}
	if n := len(s.origin.received("/a")); n != 2+2+5 && n != 2+1+5 {
		t.Errorf("the origin received %q", s.origin.ranges("/a"))
	}
}

// TestSlicesPurgedByTag: a tag is that of each slice, and a slice that was made stale is updated as a slice.
func TestSlicesPurgedByTag(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	path := with("/a", "Cache-Tag", "video")
	for n, soft := range []bool{false, true} {
		before, after := object(bodySize, uint64(10+n)), object(bodySize, uint64(20+n))
		s.purge(t)
		s.origin.setFile("/a", file{etag: `"v1"`, body: before})
		s.get(t, path)
		s.origin.setFile("/a", file{etag: `"v2"`, body: after})
		s.carryOut(t, instanceapi.Purge{Tags: []string{"video"}, Soft: soft})
		if got := s.get(t, path); got.body != after {
			t.Errorf("soft %v: the answer is %d with %d bytes", soft, got.status, len(got.body))
		}
	}
	if got := s.origin.ranges("/a"); len(got) != 20 || strings.Contains(strings.Join(got, " ")+" ", "  ") {
		t.Errorf("the origin received %q", got)
	}
}

// TestHandOverSlices: slices that the previous owner has stored come from there, and the others from the origin.
func TestHandOverSlices(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, sliced)
	body := object(bodySize, 12)
	before.origin.setFile("/a", file{etag: `"v1"`, body: body})
	before.get(t, "/a", "Range", "bytes=0-70000")
	if n := len(before.origin.received("/a")); n != 2 {
		t.Fatalf("the origin received %d requests before the hand-over", n)
	}
	for range 2 {
		if got := after.get(t, "/a"); got.status != http.StatusOK || got.body != body {
			t.Errorf("the answer is %d with %d bytes", got.status, len(got.body))
		}
	}
	if got := before.origin.ranges("/a"); len(got) != 5 {
		t.Errorf("the origin received %q", got)
	}
}

// TestSlicesStale: an update of a slice that is no longer fresh requests the slice, and not the whole object.
func TestSlicesStale(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Defaults.Slice = new(*resource.NewQuantity(sliceSize, resource.BinarySI))
		spec.Defaults.StaleWhileRevalidate = "1h"
	})
	body := object(bodySize, 6)
	s.origin.setFile("/a", file{etag: `"v1"`, body: body})
	path := with("/a", "Cache-Control", "max-age=1")
	poll().Eventually(t, "each slice was requested again", func() error {
		if got := s.get(t, path); got.body != body {
			t.Fatalf("the answer is %d with %d bytes", got.status, len(got.body))
		}
		if n := len(s.origin.received("/a")); n < 10 {
			return fmt.Errorf("the origin has received %d requests", n)
		}
		return nil
	})
	for _, r := range s.origin.ranges("/a") {
		if r == "" {
			t.Error("the whole object was requested")
		}
	}
}

// TestSlicesWithoutShard: without a shard, the edge requests slices from the origin. In an answer that has begun, there is
// never another part than that which follows.
func TestSlicesWithoutShard(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 7)
	reached, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.origin.setFile("/begun", file{etag: `"v1"`, body: body, before: func(byteRange string) {
		if strings.HasPrefix(byteRange, fmt.Sprintf("bytes=%d-", 2*sliceSize)) {
			once.Do(func() {
				close(reached)
				<-answer
			})
		}
	}})
	var group sync.WaitGroup
	group.Go(func() {
		if got, err := s.try(t, http.MethodGet, "/begun"); err == nil || got.body != body[:len(got.body)] || len(got.body) > 2*sliceSize {
			t.Errorf("the answer that had begun is %d with %d bytes: %v", got.status, len(got.body), err)
		}
	})
	<-reached
	must(t, s.shard.Process.Signal(syscall.SIGTERM))
	poll().Eventually(t, "the shard has ended", func() error {
		if _, err := os.Stat(filepath.Dir(s.logs[0]) + "/pid"); err == nil {
			return errors.New("it runs")
		}
		return nil
	})
	close(answer)
	group.Wait()

	s.origin.setFile("/a", file{etag: `"v1"`, body: body})
	for range 2 {
		if got := s.get(t, "/a"); got.status != http.StatusOK || got.body != body {
			t.Errorf("without a shard, the answer is %d with %d bytes", got.status, len(got.body))
		}
	}
	if got := s.get(t, "/a", "Range", "bytes=200000-200009"); got.body != body[200000:200010] {
		t.Errorf("without a shard, the range is %d with %d bytes", got.status, len(got.body))
	}
	if n := len(s.origin.received("/a")); n != 5 {
		t.Errorf("the origin received %q", s.origin.ranges("/a"))
	}
}

// TestMaxObjectSize: what is larger is passed on, and not stored, in slices or as a whole.
func TestMaxObjectSize(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Defaults.MaxObjectSize = new(resource.MustParse("200k"))
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/slices/")}, Slice: new(resource.MustParse("64Ki"))}}
	})
	for path, want := range map[string]struct{ size, requests int }{
		"/largest": {200_000, 1}, "/larger": {200_001, 2},
		"/slices/largest": {200_000, 4}, "/slices/larger": {200_001, 8},
	} {
		body := object(want.size, 8)
		s.origin.setFile(path, file{etag: `"v1"`, body: body})
		for range 2 {
			if got := s.get(t, path); got.status != http.StatusOK || got.body != body {
				t.Errorf("%s: %d with %d bytes", path, got.status, len(got.body))
			}
		}
		if n := len(s.origin.received(path)); n != want.requests {
			t.Errorf("%s: the origin received %d requests", path, n)
		}
	}
}

// TestRangeOfWhole: without slices, a range of an object that is not stored costs the whole object, once.
func TestRangeOfWhole(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	body := object(bodySize, 9)
	s.origin.setFile("/a", file{etag: `"v1"`, body: body})
	s.origin.setFile("/no-ranges", file{etag: `"v1"`, body: body, whole: true})
	for n := range 2 {
		got := s.get(t, "/a", "Range", "bytes=200000-200009")
		if got.status != http.StatusPartialContent || got.body != body[200000:200010] {
			t.Errorf("answer %d is %d with %d bytes", n, got.status, len(got.body))
		}
	}
	for range 2 {
		if got := s.get(t, "/no-ranges", "Range", "bytes=0-9"); got.status != http.StatusOK || got.body != body {
			t.Errorf("the origin knows no ranges, and the answer is %d with %d bytes", got.status, len(got.body))
		}
	}
	for _, path := range []string{"/a", "/no-ranges"} {
		if got := s.origin.ranges(path); len(got) != 1 || got[0] != "" {
			t.Errorf("%s: the origin received %q", path, got)
		}
	}
}
