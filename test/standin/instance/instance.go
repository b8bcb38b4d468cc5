// Package instance stands in for the instance manager of an nginx pod, where there is no kubelet:
// it answers on a loopback address of its own, and does what its pod's annotations ask for at the
// moment it is asked about it. What a configuration's files say is what becomes of it: "bad" is
// refused by the test, "sticky" passes the test and cannot be loaded, and with "faulty" every request is
// answered with 5xx.
//
// The real thing is tested with real nginx; this one can be had by the thousand, and can be killed,
// with the operator, at every single step.
package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// Instance is one that answers.
type Instance struct {
	// IP is its pod's address.
	IP string

	mounts client.Reader
	pod    client.ObjectKey
	app    string
	// disturb may answer in the instance's place.
	disturb func(http.Handler) http.Handler
	server  *http.Server

	// watch is told what becomes of revisions.
	watch Watcher

	// up is called when it serves after all.
	up func()

	mu sync.Mutex
	// down: it could not boot, and serves nothing yet.
	down    bool
	serving string
	// text is what it serves, and since tells since when.
	text      string
	since     time.Time
	granted   instanceapi.Requested
	revisions map[string]instanceapi.Revision
	// pairs are the last good ones of the certificates.
	pairs map[string]map[string]string
}

// Option changes an instance that starts.
type Option func(*Instance)

// Disturbed has a handler of its own answer, which is given the instance's.
func Disturbed(by func(http.Handler) http.Handler) Option {
	return func(i *Instance) { i.disturb = by }
}

// Up has somebody called when the instance serves after all, that could not boot.
func Up(by func()) Option {
	return func(i *Instance) { i.up = by }
}

// Watcher is told what an instance does with revisions.
type Watcher interface {
	// Accepted: it has found a revision good, or has booted with it.
	Accepted(pod client.ObjectKey, revision string)
	// Loads: it loads one that it did not serve, and fails, or not.
	Loads(pod client.ObjectKey, revision string, fails bool)
}

// Watched has somebody told.
func Watched(by Watcher) Option {
	return func(i *Instance) { i.watch = by }
}

// unwatched is nobody.
type unwatched struct{}

func (unwatched) Accepted(client.ObjectKey, string)    {}
func (unwatched) Loads(client.ObjectKey, string, bool) {}

// Start starts the instance of a pod of an application. mounts reads what its pod mounts: the
// pod itself, for its annotations, ConfigMaps and Secrets. It boots with the stable configuration, if
// that can be.
func Start(ctx context.Context, mounts client.Reader, pod client.ObjectKey, app string, options ...Option) (*Instance, error) {
	listener, ip, err := Listen(ctx)
	if err != nil {
		return nil, err
	}
	i := &Instance{IP: ip, mounts: mounts, pod: pod, app: app, watch: unwatched{}, up: func() {}, revisions: map[string]instanceapi.Revision{}, pairs: map[string]map[string]string{}}
	for _, option := range options {
		option(i)
	}
	var handler http.Handler = http.HandlerFunc(i.answer)
	if i.disturb != nil {
		handler = i.disturb(handler)
	}
	i.boot(i.volume(ctx, naming.ConfigMap(app)))
	i.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(listener) }() // it ends by Close
	return i, nil
}

// boot begins with a configuration.
func (i *Instance) boot(stable content) {
	result := tested(stable)
	if result.Test == instanceapi.Passed && strings.Contains(stable.text, "sticky") {
		result = stuck(stable.revision)
	}
	if i.down = len(result.Problems) > 0; i.down {
		i.revisions[stable.revision] = result
		return
	}
	i.serve(stable)
	i.watch.Accepted(i.pod, i.serving)
}

// serve serves a configuration from now on, if it does not already.
func (i *Instance) serve(c content) {
	if i.serving != c.revision {
		i.since = time.Now()
	}
	i.serving, i.text = c.revision, c.text
}

// Down tells whether it could not boot, and serves nothing yet.
func (i *Instance) Down() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.down
}

// Close ends it, as a pod ends that is killed.
func (i *Instance) Close() error { return i.server.Close() }

// Serving is the revision that it serves.
func (i *Instance) Serving() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.serving
}

// Text is the content of what it serves.
func (i *Instance) Text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text
}

// addresses counts the loopback addresses that were tried.
var addresses atomic.Int32

// Listen takes an address of its own for a pod. Other programs on the same machine may have some.
func Listen(ctx context.Context) (net.Listener, string, error) {
	for {
		n := addresses.Add(1)
		ip := fmt.Sprintf("127.%d.%d.%d", 1+n/(250*250)%250, n/250%250, n%250+1)
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(instanceapi.Port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return listener, ip, err
	}
}

// content is what a mounted ConfigMap holds.
type content struct{ revision, text string }

func (i *Instance) volume(ctx context.Context, name string) content {
	cm := &corev1.ConfigMap{}
	if err := i.mounts.Get(ctx, client.ObjectKey{Namespace: i.pod.Namespace, Name: name}, cm); err != nil {
		return content{}
	}
	var text strings.Builder
	for _, file := range cm.Data {
		text.WriteString(file)
	}
	return content{nginxconf.Revision(cm.Data), text.String()}
}

// answer obeys, and tells.
func (i *Instance) answer(w http.ResponseWriter, r *http.Request) {
	pod := &corev1.Pod{}
	if err := i.mounts.Get(r.Context(), i.pod, pod); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	asked := observe.Asked(pod)
	switch r.URL.Path {
	case instanceapi.PathLoad:
		i.grant(w, r, asked)
	case instanceapi.PathStatus:
		status := i.obey(r.Context(), asked)
		status.Certificates = i.certificates(r.Context(), pod)
		_ = json.NewEncoder(w).Encode(status) // who asked may be gone
	case instanceapi.PathRequests:
		_ = json.NewEncoder(w).Encode(i.requests(r.URL.Query().Get(instanceapi.ParameterRevision))) // who asked may be gone
	default:
		http.NotFound(w, r)
	}
}

// requests are those of clients that nobody has to make: enough to be judged by, from the first moment on.
func (i *Instance) requests(revision string) instanceapi.RequestWindow {
	const enough = 1000
	if revision != "" && revision != i.serving {
		return instanceapi.RequestWindow{Revision: revision}
	}
	window := instanceapi.RequestWindow{Revision: i.serving, Seconds: 1, Requests: enough}
	if strings.Contains(i.text, "faulty") {
		window.Errors = enough
	} else {
		window.Latency[0] = enough
	}
	return window
}

func (i *Instance) obey(ctx context.Context, asked instanceapi.Requested) instanceapi.Status {
	stable := i.volume(ctx, naming.ConfigMap(i.app))
	next := i.volume(ctx, naming.ConfigMapNext(i.app))
	toLoad := asked.Load
	if asked == i.granted {
		toLoad = asked.Test
	} else {
		i.granted = instanceapi.Requested{}
	}
	if i.down && i.revisions[stable.revision].Revision == "" {
		if i.boot(stable); !i.down {
			i.up()
		}
	}
	i.test(asked.Test, next)
	i.load(toLoad, stable, next)
	status := instanceapi.Status{
		Protocol: instanceapi.Protocol, Serving: i.serving, Stable: stable.revision, Next: next.revision,
		Requested: asked.Public(), Granted: i.granted.Test, Ready: !i.down,
	}
	if !i.down {
		status.ServingSeconds = new(int64(time.Since(i.since).Seconds()))
	}
	for _, revision := range i.revisions {
		status.Revisions = append(status.Revisions, revision)
	}
	return status
}

// grant takes the word at which it loads what it was asked to test.
func (i *Instance) grant(w http.ResponseWriter, r *http.Request, asked instanceapi.Requested) {
	word, err := io.ReadAll(r.Body)
	if err != nil || !instanceapi.Opens(string(word), asked.Grant) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	i.granted = asked
	w.WriteHeader(http.StatusAccepted)
}

func (i *Instance) test(revision string, next content) {
	if revision == "" || revision != next.revision || i.revisions[revision].Test != "" {
		return
	}
	result := tested(next)
	if result.Test == instanceapi.Passed {
		i.watch.Accepted(i.pod, revision)
	}
	i.revisions[revision] = result
}

// tested is what becomes of a test.
func tested(c content) instanceapi.Revision {
	if strings.Contains(c.text, "bad") {
		return instanceapi.Revision{
			Revision: c.revision, Test: instanceapi.Failed,
			Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: "it is bad"}},
		}
	}
	return instanceapi.Revision{Revision: c.revision, Test: instanceapi.Passed}
}

// stuck is what becomes of a revision that passes its test, and cannot be loaded.
func stuck(revision string) instanceapi.Revision {
	return instanceapi.Revision{
		Revision: revision, Test: instanceapi.Passed, Load: instanceapi.Failed,
		Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: "it sticks"}},
	}
}

func (i *Instance) load(revision string, volumes ...content) {
	for _, v := range volumes {
		if revision == "" || v.revision != revision || i.revisions[revision].Load == instanceapi.Failed {
			continue
		}
		fails := strings.Contains(v.text, "sticky")
		if i.serving != revision {
			i.watch.Loads(i.pod, revision, fails)
		}
		if fails {
			i.revisions[revision] = stuck(revision)
			return
		}
		i.serve(v)
		if i.down {
			i.down = false
			i.up()
		}
	}
}
