package logs

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/nginx/naming"
)

// apiServer returns a client of an API server that serves the logs of pods by a handler, which gets the name of the pod.
func apiServer(t *testing.T, serve func(w http.ResponseWriter, r *http.Request, pod string)) rest.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) != "log" {
			// The watch of pods reports nothing.
			w.WriteHeader(http.StatusOK)
			<-r.Context().Done()
			return
		}
		serve(w, r, path.Base(path.Dir(r.URL.Path)))
	}))
	t.Cleanup(server.Close)
	c, err := rest.RESTClientFor(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func runningPods(names ...string) (pods []corev1.Pod) {
	for _, name := range names {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.NginxContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		pods = append(pods, pod)
	}
	return pods
}

var began = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// stamped returns a line of a log as the API server sends it.
func stamped(after time.Duration, text string) string {
	return began.Add(after).Format(time.RFC3339Nano) + " " + text + "\n"
}

// TestMergeEnding: the lines of all pods are in the order of their times. Lines without a time stay behind the one before.
func TestMergeEnding(t *testing.T) {
	texts := map[string]string{
		"web-1": stamped(1, "1") + stamped(4, "4") + "4, continued\n" + stamped(9, "9"),
		"web-2": "0\n" + stamped(2, "2") + stamped(4, "4 as well"),
		"web-3": "",
		"web-4": stamped(3, "3"),
	}
	c := apiServer(t, func(w http.ResponseWriter, _ *http.Request, pod string) { _, _ = w.Write([]byte(texts[pod])) })
	var got []string
	show := func(l Line) error { got = append(got, l.Text); return nil }
	err := Show(t.Context(), c, Options{Namespace: "shop", Tail: -1}, runningPods("web-1", "web-2", "web-3", "web-4"), show, func(text string) { t.Error(text) })
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "4, continued", "4 as well", "9"}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// TestLargeLogs: logs that do not fit into the memory are merged, and no log is read far ahead of the others.
func TestLargeLogs(t *testing.T) {
	const lines, width, bound = 60_000, 500, 24 << 20
	filler := strings.Repeat("x", width)
	c := apiServer(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		out := bufio.NewWriter(w)
		for i := range lines {
			_, _ = out.WriteString(stamped(time.Duration(i)*time.Millisecond, filler))
		}
		_ = out.Flush()
	})
	pods := runningPods("web-1", "web-2", "web-3")
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, peak, last := 0, uint64(0), time.Time{}
	err := Show(t.Context(), c, Options{Namespace: "shop", Tail: -1}, pods, func(l Line) error {
		if l.Time.Before(last) {
			return fmt.Errorf("line %d of %s is out of order", n, l.Pod)
		}
		last = l.Time
		if n++; n%20_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
		}
		return nil
	}, func(text string) { t.Error(text) })
	if err != nil || n != len(pods)*lines {
		t.Fatalf("%d lines: %v", n, err)
	}
	if peak > bound {
		t.Errorf("%d MiB of logs take %d MiB of memory", n*width>>20, peak>>20)
	}
}

// TestBrokenLog: a log that cannot be read does not hide the others, and that none can be read is an error.
func TestBrokenLog(t *testing.T) {
	c := apiServer(t, func(w http.ResponseWriter, _ *http.Request, pod string) {
		if pod == "web-2" {
			http.Error(w, "the node does not answer", http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(stamped(1, "1")))
	})
	for name, tt := range map[string]struct {
		pods  []string
		shown int
		fails bool
	}{"one of two": {[]string{"web-1", "web-2"}, 1, false}, "all": {[]string{"web-2"}, 0, true}} {
		shown, warnings := 0, []string{}
		err := Show(t.Context(), c, Options{Namespace: "shop"}, runningPods(tt.pods...), func(Line) error { shown++; return nil }, func(text string) { warnings = append(warnings, text) })
		if shown != tt.shown || (err != nil) != tt.fails || len(warnings) != 1 || !strings.Contains(warnings[0], "the log of pod web-2 cannot be read") {
			t.Errorf("%s: %d lines, %v, %q", name, shown, err, warnings)
		}
	}
}

// cutLog serves a log in two parts: the connection is cut after the first, and the second begins at the second of sinceTime.
type cutLog struct {
	mu    sync.Mutex
	since []string
	// clean ends the first answer as the API server does after some hours; otherwise, it is cut.
	clean bool
}

// lines are those of the log. All are of one second or the next, which is what sinceTime tells apart.
var lines = []struct {
	at   time.Duration
	text string
}{{100 * time.Millisecond, "a"}, {1100 * time.Millisecond, "b"}, {1200 * time.Millisecond, "c"}, {1300 * time.Millisecond, "d"}, {2400 * time.Millisecond, "e"}}

func (c *cutLog) serve(w http.ResponseWriter, r *http.Request, _ string) {
	c.mu.Lock()
	c.since = append(c.since, r.URL.Query().Get("sinceTime"))
	first := len(c.since) == 1
	c.mu.Unlock()
	from, err := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	if err != nil {
		from = began
	}
	shown := lines
	if first {
		shown = lines[:3]
	}
	for _, l := range shown {
		if !began.Add(l.at).Before(from) {
			_, _ = w.Write([]byte(stamped(l.at, l.text)))
		}
	}
	_ = http.NewResponseController(w).Flush()
	switch {
	case first && !c.clean:
		panic(http.ErrAbortHandler)
	case !first:
		<-r.Context().Done()
	}
}

// TestFollowReopens: after a connection has ended, or was cut, each later line is shown, and none twice.
func TestFollowReopens(t *testing.T) {
	for name, clean := range map[string]bool{"cut": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			server := &cutLog{clean: clean}
			c := apiServer(t, server.serve)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var got []string
			var warnings []string
			show := func(l Line) error {
				if got = append(got, l.Text); l.Text == "e" {
					stop()
				}
				return nil
			}
			if err := Show(ctx, c, Options{Namespace: "shop", Follow: true, Tail: 10}, runningPods("web-1"), show, func(text string) { warnings = append(warnings, text) }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]string{"", "2026-11-26T12:00:01Z"}, server.since); diff != "" {
				t.Errorf("sinceTime, -want +got:\n%s", diff)
			}
			interrupted := slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, "was interrupted") })
			if interrupted == clean {
				t.Errorf("warnings: %q", warnings)
			}
		})
	}
}

// TestBegin: a pod has one reader, which a restart of its container replaces only after it has ended.
func TestBegin(t *testing.T) {
	s := &streams{pods: map[types.UID]*podLog{}}
	pod := &runningPods("web-1")[0]
	begin := func(restarts int32) *podLog {
		pod.Status.ContainerStatuses[0].RestartCount = restarts
		return s.begin(pod)
	}
	first := begin(0)
	if first == nil || begin(0) != nil || begin(1) != nil {
		t.Error("a pod has two readers")
	}
	first.reading, first.last = false, began
	if begin(0) != nil {
		t.Error("a container is read again that has not restarted")
	}
	if again := begin(1); again == nil || !again.last.Equal(began) {
		t.Errorf("after a restart: %+v", again)
	}
}

// TestFollowEnds: the log of a container that has terminated is read once, and one that the API server refuses is given up with
// a warning. Other errors are temporary.
func TestFollowEnds(t *testing.T) {
	var mu sync.Mutex
	reads, warnings := map[string]int{}, []string{}
	c := apiServer(t, func(w http.ResponseWriter, _ *http.Request, pod string) {
		mu.Lock()
		reads[pod]++
		n := reads[pod]
		mu.Unlock()
		switch {
		case pod == "expired" && n > 1:
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		case pod == "busy" && n == 2:
			http.Error(w, "slow down", http.StatusTooManyRequests)
		default:
			_, _ = w.Write([]byte(stamped(time.Duration(n)*time.Second, fmt.Sprint(pod, n))))
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	pods := runningPods("completed", "expired", "busy")
	pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	show := func(l Line) error {
		if l.Text == "busy4" {
			stop()
		}
		return nil
	}
	warn := func(text string) { mu.Lock(); warnings = append(warnings, text); mu.Unlock() }
	if err := Show(ctx, c, Options{Namespace: "shop", Follow: true, Tail: -1}, pods, show, warn); err != nil {
		t.Fatal(err)
	}
	if reads["completed"] != 1 || reads["expired"] != 2 {
		t.Errorf("reads: %v", reads)
	}
	text := strings.Join(warnings, "\n")
	if strings.Count(text, "the log of pod expired cannot be read") != 1 || strings.Count(text, "the log of pod busy was interrupted") != 1 {
		t.Errorf("warnings: %s", text)
	}
}
