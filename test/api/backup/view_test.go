package backup

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// oldView makes an API server appear to lag behind: it lists a resource at an old resourceVersion
// and sends no watch events of it until it has caught up.
type oldView struct {
	resource, version string
	caughtUp          chan struct{}
	// requested is closed when an object of the resource was read or written by name.
	requested chan struct{}
	once      sync.Once
}

func newOldView(resource, version string) *oldView {
	return &oldView{resource: resource, version: version, caughtUp: make(chan struct{}), requested: make(chan struct{})}
}

// record records the request if it names an object of the resource.
func (v *oldView) record(r *http.Request) {
	if v != nil && strings.Contains(r.URL.Path, "/"+v.resource+"/") {
		v.once.Do(func() { close(v.requested) })
	}
}

// roundTrip responds to a read.
func (v *oldView) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if v == nil || !strings.HasSuffix(r.URL.Path, "/"+v.resource) {
		return next.RoundTrip(r)
	}
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") != "":
		// Clients list first if the server does not support this.
		return refusal(r, http.StatusBadRequest)
	case query.Get("watch") != "":
		select {
		case <-v.caughtUp:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	case query.Has("timeoutSeconds") && query.Get("continue") == "": // informers list so
		query.Set("resourceVersion", v.version)
		query.Set("resourceVersionMatch", "Exact")
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	return next.RoundTrip(r)
}

// TestOldView: an operator that starts with an outdated view, in which nothing has been done yet,
// does nothing again and deletes nothing.
func TestOldView(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		resource string
		// done lets an operator do everything, and returns the resourceVersion before that.
		done func(b *bench) string
	}{
		"a backup": {"nginxbackups", func(b *bench) string {
			b.application("web", v1alpha2.NginxOperatorSpec{})
			before := b.backup("manual", "web", claimURL).ResourceVersion
			b.waitBackups(1)
			return before
		}},
		"a restore": {"nginxrestores", func(b *bench) string {
			b.open()
			b.burn()
			before := b.restore("back").ResourceVersion
			b.waitRestore("back", v1alpha1.ReasonCompleted)
			return before
		}},
		"a backup before a rollout": {"nginxbackups", func(b *bench) string {
			nginx := b.application("web", gated)
			b.policy(beforeRollouts)
			begins := b.nextBackup(nginx.ResourceVersion)
			b.wait(nginx, "r1")
			before := <-begins
			b.waitOpened("web", "r1")
			b.waitBackups(1)
			b.says(nginx, nil)
			b.waitOpened("web", "")
			return before
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			before := tt.done(b)
			b.settled()
			was := b.everything()
			b.operator.stop()
			view := newOldView(tt.resource, before)
			b.operator = (&testOperator{t: t, view: view}).start(b.namespace)
			<-view.requested
			b.settled()
			b.stands(was)
			close(view.caughtUp)
			b.settled()
			b.stands(was)
		})
	}
}

// nextBackup sends the resourceVersion of the first backup that is created after a version.
func (b *bench) nextBackup(after string) <-chan string {
	b.t.Helper()
	watching, err := client.NewWithWatch(plane.Config, client.Options{Scheme: kube.Scheme()})
	must(b.t, err)
	backups, err := watching.Watch(b.t.Context(), &v1alpha1.NginxBackupList{},
		client.InNamespace(b.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: after}})
	must(b.t, err)
	first := make(chan string, 1)
	go func() {
		defer backups.Stop()
		event := <-backups.ResultChan()
		if backup, ok := event.Object.(*v1alpha1.NginxBackup); ok {
			first <- backup.ResourceVersion
		}
		close(first)
	}()
	return first
}

// everything returns each object and file that a backup or a restore can change.
func (b *bench) everything() map[string]string {
	b.t.Helper()
	all := b.versions()
	for _, backup := range b.backups() {
		all["backup "+backup.Name] = string(backup.UID) + " " + backup.ResourceVersion
	}
	for _, restore := range b.restores() {
		all["restore "+restore.Name] = string(restore.UID) + " " + restore.ResourceVersion
	}
	for name, text := range b.claimFiles("") {
		all["file "+name] = string(text)
	}
	for _, name := range b.place.Started() {
		all["job "+name] = "started"
	}
	return all
}

// stands checks that nothing has changed.
func (b *bench) stands(was map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(was, b.everything()); diff != "" {
		b.t.Errorf("changed on the word of an old view, -before +after:\n%s", diff)
	}
}
