// Package instance stands in for the instance manager of an nginx pod where there is no kubelet. It
// serves on its own loopback address, and carries out what the operator ordered whenever it receives
// a request. The text of a configuration decides its fate:
//
//   - "bad" fails the test, and so does a configuration that reads a certificate that does not
//     exist;
//   - "sticky" passes the test but cannot be loaded, and the load of "fatal" ends the container;
//   - "useless" is served, and rolled back after the comparison of the first answers;
//   - "brittle" is served, and rolled back because a worker ends while the configuration is on
//     probation;
//   - with "faulty" every request is answered with 5xx, and with "unvisited" there are no requests;
//   - with "mute" the instance accepts connections but does not respond.
//
// Other tests cover the real instance manager with real nginx. Thousands of stand-ins can run at the
// same time, and they and the operator can be killed at every step.
package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Instance is a running stand-in.
type Instance struct {
	// IP is the address of its pod, and UID the pod's UID.
	IP  string
	UID types.UID

	mounts client.Reader
	pod    client.ObjectKey
	app    string
	// disturb may respond in place of the instance.
	disturb func(http.Handler) http.Handler
	server  *http.Server

	// watch is notified of what the instance does with revisions.
	watch Watcher

	// up is called when an instance that could not boot starts to serve.
	up func()

	mu sync.Mutex
	// down is set while the instance serves nothing because it could not boot.
	down    bool
	serving string
	// text is the configuration that it serves, and since is the time since which it serves it.
	text  string
	since time.Time
	// before is the configuration that it served before. It is zero if the instance booted with the
	// current one or cannot roll back.
	before    content
	revisions results
	// orders receives the operator's orders. requested is what the last one requested, hints are its hints,
	// and ordered are the configurations that came with orders.
	orders    *orders.Receiver
	requested instanceapi.Requested
	hints     instanceapi.Hints
	ordered   map[string]content
	// pairs holds the last good pair of each certificate.
	pairs map[string]map[string]string
	// volumeOfCache is the volume of the pod's cache; nil: it has none.
	volumeOfCache *Volume
}

// Option changes an instance before it starts.
type Option func(*Instance)

// Disturbed wraps the instance's handler.
func Disturbed(by func(http.Handler) http.Handler) Option {
	return func(i *Instance) { i.disturb = by }
}

// Up calls by when an instance that could not boot starts to serve.
func Up(by func()) Option {
	return func(i *Instance) { i.up = by }
}

// Start starts the instance of an application's pod. mounts reads the pod itself, and what the pod
// mounts: ConfigMaps and Secrets. The instance boots with the stable configuration, if that can be
// served.
func Start(ctx context.Context, mounts client.Reader, pod client.ObjectKey, app string, options ...Option) (*Instance, error) {
	listener, ip, err := Listen(ctx)
	if err != nil {
		return nil, err
	}
	i := &Instance{IP: ip, mounts: mounts, pod: pod, app: app, watch: unwatched{}, up: func() {}, ordered: map[string]content{}, pairs: map[string]map[string]string{}}
	for _, option := range options {
		option(i)
	}
	var handler http.Handler = http.HandlerFunc(i.answer)
	if i.disturb != nil {
		handler = i.disturb(handler)
	}
	handler = answered(handler, func(order, ok bool) { i.watch.Answered(i.pod, order, ok) })
	if err := i.mount(ctx); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	i.boot(i.volume(ctx, naming.ConfigMap(app)))
	i.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(listener) }() // it returns after Close
	return i, nil
}

// mount reads the existing certificates before the instance boots.
func (i *Instance) mount(ctx context.Context) error {
	pod := &corev1.Pod{}
	if err := i.mounts.Get(ctx, i.pod, pod); err != nil {
		return err
	}
	i.UID = pod.UID
	i.orders = orders.NewReceiver(string(pod.UID), i.trust)
	i.certificates(ctx, pod)
	i.mountedPurges(ctx, pod)
	return nil
}

// trust returns whose orders the instance accepts, from the ConfigMap of the candidate.
func (i *Instance) trust() instanceapi.Trust {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: i.pod.Namespace, Name: naming.ConfigMapNext(i.app)}
	if err := i.mounts.Get(context.Background(), key, cm); err != nil {
		return instanceapi.Trust{}
	}
	trust, err := instanceapi.ParseTrust(string(cm.BinaryData[instanceapi.FileTrust]))
	if err != nil {
		return instanceapi.Trust{}
	}
	return trust
}

// boot starts with a configuration.
func (i *Instance) boot(stable content) {
	result := i.tested(stable)
	if result.Test == instanceapi.Passed {
		result = dryRun(stable)
	}
	if failure := loadFailure(stable); result.Test == instanceapi.Passed && failure != nil {
		result = *failure
	}
	if i.down = len(result.Problems) > 0; i.down {
		i.revisions.set(result)
		return
	}
	i.serve(stable)
	i.watch.Boots(i.pod, i.serving)
}

// serve starts to serve a configuration, unless the instance already serves it.
func (i *Instance) serve(c content) {
	if i.serving != c.revision {
		i.since, i.before = time.Now(), content{i.serving, i.text}
	}
	i.serving, i.text = c.revision, c.text
}

// Down reports whether the instance serves nothing because it could not boot.
func (i *Instance) Down() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.down
}

// Close ends the instance, as when a pod is killed.
func (i *Instance) Close() error { return i.server.Close() }

// App returns the application of its pod.
func (i *Instance) App() string { return i.app }

// Deliver takes over what the kubelet has delivered: a revision that the pod may load without an order, for as long as
// the operator cannot reach it.
func (i *Instance) Deliver(ctx context.Context) {
	pod := &corev1.Pod{}
	if i.mounts.Get(ctx, i.pod, pod) != nil {
		// The pod is gone.
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status(ctx, pod)
}

// Serving returns the revision that the instance serves.
func (i *Instance) Serving() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.serving
}

// Since returns the revision that the instance serves, and since when.
func (i *Instance) Since() (revision string, since time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.serving, i.since
}

// Text returns the text of the configuration that the instance serves.
func (i *Instance) Text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text
}

// addresses counts the loopback addresses that were tried.
var addresses atomic.Int32

// Listen listens on a separate address for a pod. It skips addresses that other programs on this
// machine use.
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

// content is the content of a mounted ConfigMap.
type content struct{ revision, text string }

func (i *Instance) volume(ctx context.Context, name string) content {
	cm := &corev1.ConfigMap{}
	if err := i.mounts.Get(ctx, client.ObjectKey{Namespace: i.pod.Namespace, Name: name}, cm); err != nil {
		return content{}
	}
	return contentOf(cm.Data)
}

// comment matches a comment of nginx. A comment decides no fate: the operator explains its templates in comments.
var comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)

func contentOf(files map[string]string) content {
	var text strings.Builder
	for _, file := range files {
		text.WriteString(comment.ReplaceAllString(file, ""))
	}
	return content{nginxconf.Revision(files), text.String()}
}

// answer carries out what the last order requested and responds.
func (i *Instance) answer(w http.ResponseWriter, r *http.Request) {
	pod := &corev1.Pod{}
	if err := i.mounts.Get(r.Context(), i.pod, pod); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if strings.Contains(i.Text(), "mute") {
		// Only a server that has read the whole request notices that the client is gone.
		_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
		<-r.Context().Done()
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch r.URL.Path {
	case instanceapi.PathOrders:
		if _, refusal := i.orders.Receive(r, i.take); refusal != "" {
			http.Error(w, string(refusal), refusal.Code())
			return
		}
		_ = json.NewEncoder(w).Encode(i.status(r.Context(), pod)) // the client may be gone
	case instanceapi.PathStatus:
		_ = json.NewEncoder(w).Encode(i.status(r.Context(), pod)) // the client may be gone
	case instanceapi.PathPurges:
		if i.volumeOfCache == nil {
			http.NotFound(w, r)
			return
		}
		i.answerPurges(w, r)
	case instanceapi.PathRequests:
		_ = json.NewEncoder(w).Encode(i.requests(r.URL.Query().Get(instanceapi.ParameterRevision))) // the client may be gone
	default:
		http.NotFound(w, r)
	}
}

// take takes over what an order requests. Before each order, the instance has dropped all files that it need not keep, and
// the kubelet has not delivered those that are mounted: Available promises less than it shows.
func (i *Instance) take(order instanceapi.Order, contents instanceapi.Contents) instanceapi.Refusal {
	maps.DeleteFunc(i.ordered, func(revision string, _ content) bool {
		return revision != i.serving && revision != i.requested.Test && revision != i.requested.Load
	})
	has := func(revision string) bool {
		return revision == "" || revision == i.serving || contents[revision] != nil || i.ordered[revision].revision != ""
	}
	if latest := order.Requested; !has(latest.Load) || latest.Test != i.requested.Test && !has(latest.Test) {
		return instanceapi.MissingFiles
	}
	i.requested, i.hints = order.Requested, order.Hints
	for revision, files := range contents {
		i.ordered[revision] = contentOf(files)
	}
	return ""
}

func (i *Instance) status(ctx context.Context, pod *corev1.Pod) instanceapi.Status {
	certificates := i.certificates(ctx, pod)
	if revision := i.orders.Follow(); revision != "" {
		i.requested, i.hints = instanceapi.Requested{Test: revision, Load: revision}, instanceapi.Hints{}
		if i.serving != revision {
			i.watch.Follows(i.pod, revision)
		}
	}
	status := i.obey(ctx, i.requested)
	i.mountedPurges(ctx, pod)
	status.Certificates, status.Orders, status.Purged = certificates, i.orders.Describe(), i.purged()
	return status
}

// requests returns the requests of imaginary clients: from the first moment, there are enough of
// them for an analysis. If revision is empty, it includes the requests before the load, which were
// many more.
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

func (i *Instance) obey(ctx context.Context, requested instanceapi.Requested) instanceapi.Status {
	stable := i.volume(ctx, naming.ConfigMap(i.app))
	next := i.volume(ctx, naming.ConfigMapNext(i.app))
	if i.down && i.revisions.of(stable.revision).Revision == "" {
		if i.boot(stable); !i.down {
			i.up()
		}
	}
	i.reconsider()
	known := append(slices.Collect(maps.Values(i.ordered)), stable, next)
	for _, c := range known {
		if c.revision != "" && (c.revision == requested.Test || c.revision == requested.Load) {
			i.ordered[c.revision] = c
		}
	}
	i.test(requested.Test, known)
	i.load(requested.Load, known)
	status := instanceapi.Status{
		Protocol: instanceapi.Protocol, Serving: i.serving, Stable: stable.revision, Next: next.revision,
		Requested: requested, Available: available(known), Ready: !i.down,
		Comparing: i.hints.First && i.mayRollBack("useless"), OnProbation: i.mayRollBack("brittle"),
	}
	if !i.down {
		status.ServingSeconds = new(int64(time.Since(i.since).Seconds()))
	}
	i.revisions.forget(i.serving, stable.revision, next.revision, requested.Test, requested.Load)
	status.Revisions = slices.Clone(i.revisions)
	return status
}

// available returns the revisions of configurations.
func available(known []content) []string {
	var revisions []string
	for _, c := range known {
		if c.revision != "" {
			revisions = append(revisions, c.revision)
		}
	}
	return revisions
}
