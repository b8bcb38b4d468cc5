//go:build instance

package cache

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// origin answers as the query of a request says: a delay, a pause in the body, the size of the body and of a header, and all
// parameters in upper case as headers. Each answer has another number, and begins with the body of its request.
type origin struct {
	address string
	// second is another address of it; empty if it has one only.
	second string
	server *http.Server

	mu       sync.Mutex
	requests []*http.Request
	// statuses are those of all answers.
	statuses []int
	// status overrides that of the query, by path.
	status map[string]int
	// inProgress is the number of requests that are being answered, by path, and peak the greatest that it has been.
	inProgress, peak map[string]int
	// gates hold answers, by path.
	gates map[string]*gate
	// files are answers by path, with all that the HTTP server of Go knows of ranges and conditions.
	files map[string]file
}

// gate holds answers until so many requests are in progress. The first ones pass.
type gate struct {
	first, atOnce int
	open          chan struct{}
}

// holdFor is how long a gate holds an answer at most, which is less than requests wait for each other.
const holdFor = lockTimeout - 5*time.Second

// file is an object of the origin.
type file struct {
	etag, body string
	// whole ignores ranges.
	whole bool
	// before is called with the header Range before a request is answered.
	before func(byteRange string)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	return listener
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	listener := listen(t)
	o := &origin{address: listener.Addr().String(), status: map[string]int{}, inProgress: map[string]int{}, peak: map[string]int{}, gates: map[string]*gate{}, files: map[string]file{}}
	o.server = &http.Server{Handler: o, ReadHeaderTimeout: time.Minute}
	go func() { _ = o.server.Serve(listener) }() // It returns when it is closed.
	t.Cleanup(func() { _ = o.server.Close() })
	return o
}

// listenAlso gives the origin a second address, with the port of the first.
func (o *origin) listenAlso(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(o.address)
	must(t, err)
	o.second = net.JoinHostPort("127.0.0.2", port)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", o.second)
	must(t, err)
	go func() { _ = o.server.Serve(listener) }() // It returns when it is closed.
}

// inUpstream is the origin in the configuration of its upstream.
var inUpstream = regexp.MustCompile(`server app\.shop\.svc\.test:80 resolve(.*);`)

// withSecond returns a configuration in which the upstream has the second address as well, as if a name server had given it.
func (o *origin) withSecond(text string) string {
	if o.second == "" {
		return text
	}
	return inUpstream.ReplaceAllString(text, "$0\n    server "+o.second+"$1;")
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer o.begin(r.URL.Path)()
	o.mu.Lock()
	o.requests = append(o.requests, r)
	number, status := len(o.requests), cmp.Or(o.status[r.URL.Path], http.StatusOK)
	o.statuses = append(o.statuses, status)
	f, isFile := o.files[r.URL.Path]
	held := o.held(r.URL.Path)
	o.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-time.After(holdFor):
		}
	}
	if isFile {
		f.serve(w, r)
		return
	}
	query := r.URL.Query()
	if raw := query.Get("raw"); raw != "" {
		sendRaw(w, raw)
		return
	}
	delay, _ := time.ParseDuration(query.Get("delay")) // None by default.
	time.Sleep(delay)
	for name, values := range query {
		if name[0] >= 'A' && name[0] <= 'Z' {
			w.Header()[name] = values
		}
	}
	if large, _ := strconv.Atoi(query.Get("large")); large > 0 { // None by default.
		w.Header().Set("X-Large", strings.Repeat("x", large))
	}
	w.WriteHeader(status)
	if r.ContentLength != 0 {
		body, _ := io.ReadAll(r.Body)          // The client may have left.
		_, _ = fmt.Fprintf(w, "%s for ", body) // The same.
	}
	if pause, err := time.ParseDuration(query.Get("pause")); err == nil {
		_, _ = fmt.Fprint(w, "begun ") // The client may have left.
		w.(http.Flusher).Flush()
		time.Sleep(pause)
	}
	size, _ := strconv.Atoi(query.Get("size"))                                               // None by default.
	_, _ = fmt.Fprintf(w, "%d %s", number, strings.Repeat("x", size+len(query.Get("more")))) // The client may have left.
}

// sendRaw sends bytes instead of an answer, and closes the connection.
func sendRaw(w http.ResponseWriter, raw string) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(connection, raw) // The client may have left.
	_ = connection.Close()                 // The same.
}

// begin counts a request that is being answered, until end is called.
func (o *origin) begin(path string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inProgress[path]++
	o.peak[path] = max(o.peak[path], o.inProgress[path])
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.inProgress[path]--
	}
}

// hold holds the answers for a path, except for the first ones, until so many requests are in progress.
func (o *origin) hold(path string, first, atOnce int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gates[path] = &gate{first: first, atOnce: atOnce, open: make(chan struct{})}
}

// held returns a channel that is closed once a request for a path may be answered; nil: now.
func (o *origin) held(path string) <-chan struct{} {
	g := o.gates[path]
	if g == nil {
		return nil
	}
	if g.first > 0 {
		g.first--
		return nil
	}
	if o.inProgress[path] >= g.atOnce {
		close(g.open)
		delete(o.gates, path)
	}
	return g.open
}

// takePeak returns the greatest number of requests for a path that were being answered at once, and forgets it.
func (o *origin) takePeak(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer delete(o.peak, path)
	return o.peak[path]
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	if f.before != nil {
		f.before(r.Header.Get("Range"))
	}
	maps.Copy(w.Header(), r.URL.Query())
	w.Header().Set("Content-Type", "video/mp4")
	if f.etag != "" {
		w.Header().Set("Etag", f.etag)
	}
	if f.whole {
		w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		_, _ = io.WriteString(w, f.body) // The client may have left.
		return
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.body))
}

// count returns the number of requests.
func (o *origin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.requests)
}

func (o *origin) setFile(path string, f file) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files[path] = f
}

func (o *origin) setStatus(path string, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status[path] = status
}

// received returns the requests for a path.
func (o *origin) received(path string) (found []*http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.requests {
		if r.URL.Path == path {
			found = append(found, r)
		}
	}
	return found
}

// classes returns the number of requests by class of the status that they were answered with, such as "app 2xx".
func (o *origin) classes() map[string]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[string]float64{}
	for _, status := range o.statuses {
		found[fmt.Sprintf("app %dxx", status/100)]++
	}
	return found
}

// answer is what a client gets.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request to the edge. headers are names and values.
func (s *tiers) send(t *testing.T, method, path string, headers ...string) answer {
	t.Helper()
	got, err := s.try(t, method, path, headers...)
	must(t, err)
	return got
}

// try does the same for an answer that may break off. The error says so, and the answer has what came before.
func (s *tiers) try(t *testing.T, method, path string, headers ...string) (answer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.edge+path, nil)
	must(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(body)}, err
}

func (s *tiers) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return s.send(t, http.MethodGet, path, headers...)
}

// with returns a path with which the origin answers with headers: names and values.
func with(path string, headers ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(headers); i += 2 {
		query.Add(headers[i], headers[i+1])
	}
	return path + "?" + query.Encode()
}
