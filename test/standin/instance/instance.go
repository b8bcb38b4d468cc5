// Package instance stands in for the instance manager of an nginx pod, where there is no kubelet:
// it answers on a loopback address of its own, and does what its pod's annotations ask for at the
// moment it is asked about it. What a configuration's files say is what becomes of it:
//
//   - "bad" is refused by the test, and so is one that reads a certificate that is not there;
//   - "sticky" passes the test and cannot be loaded; the load of "fatal" ends the container;
//   - "useless" is served, and taken back when the first answers have been compared;
//   - "brittle" is served, and taken back when a worker ends while it is on probation;
//   - with "faulty" every request is answered with 5xx, and with "unvisited" there is none;
//   - with "mute" the instance takes connections, and does not answer.
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
	text  string
	since time.Time
	// before is what it served before; zero: it has booted with what it serves, or cannot go back.
	before    content
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
	if err := i.mount(ctx); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	i.boot(i.volume(ctx, naming.ConfigMap(app)))
	i.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(listener) }() // it ends by Close
	return i, nil
}

// mount finds the certificates that there are before it boots.
func (i *Instance) mount(ctx context.Context) error {
	pod := &corev1.Pod{}
	if err := i.mounts.Get(ctx, i.pod, pod); err != nil {
		return err
	}
	i.certificates(ctx, pod)
	return nil
}

// boot begins with a configuration.
func (i *Instance) boot(stable content) {
	result := i.tested(stable)
	if failure := loadFailure(stable); result.Test == instanceapi.Passed && failure != nil {
		result = *failure
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
		i.since, i.before = time.Now(), content{i.serving, i.text}
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
	if strings.Contains(i.Text(), "mute") {
		// Only a server that has read a request to its end notices that the client is gone.
		_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
		<-r.Context().Done()
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	asked := observe.Asked(pod)
	switch r.URL.Path {
	case instanceapi.PathLoad:
		i.grant(w, r, asked)
	case instanceapi.PathStatus:
		certificates := i.certificates(r.Context(), pod)
		status := i.obey(r.Context(), asked)
		status.Certificates = certificates
		_ = json.NewEncoder(w).Encode(status) // who asked may be gone
	case instanceapi.PathRequests:
		_ = json.NewEncoder(w).Encode(i.requests(r.URL.Query().Get(instanceapi.ParameterRevision))) // who asked may be gone
	default:
		http.NotFound(w, r)
	}
}

// requests are those of clients that nobody has to make: enough to be judged by, from the first moment on.
// Who does not name a configuration is told of those before the load as well, which were many.
func (i *Instance) requests(revision string) instanceapi.RequestWindow {
	const enough, earlier = 1000, 1_000_000
	if revision != "" && revision != i.serving || strings.Contains(i.text, "unvisited") {
		return instanceapi.RequestWindow{Revision: revision}
	}
	window := instanceapi.RequestWindow{Revision: revision, Seconds: 1, Requests: enough}
	if strings.Contains(i.text, "faulty") {
		window.Errors = enough
	} else {
		window.Latency[0] = enough
	}
	if revision == "" && i.before.revision != "" {
		window.Requests += earlier
		window.Latency[0] += earlier
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
	i.reconsider()
	i.test(asked.Test, next)
	i.load(toLoad, stable, next)
	status := instanceapi.Status{
		Protocol: instanceapi.Protocol, Serving: i.serving, Stable: stable.revision, Next: next.revision,
		Requested: asked.Public(), Granted: i.granted.Test, Ready: !i.down,
		Comparing: i.doubtful("useless"), OnProbation: i.doubtful("brittle"),
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
