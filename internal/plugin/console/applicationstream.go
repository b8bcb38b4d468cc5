package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/console/page"
)

// application streams the page of an application: each part when it changes.
func (c *console) application(ctx context.Context, r *http.Request, v *Viewer, s *stream) error {
	f := newApplicationFeed(types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")})
	f.follow(ctx, v)
	sent := map[string][]byte{}
	return s.pump(ctx, f.changes, func() error {
		f.findZones(ctx, v)
		parts, complete := f.read()
		if !complete {
			return nil
		}
		if f.missing() {
			// An application that is created again gets a new page.
			clear(sent)
		}
		updates, err := changed(parts, sent)
		if err != nil || len(updates) == 0 {
			return err
		}
		return s.send(updates...)
	})
}

// changed returns the parts that differ from what was sent, and remembers them as sent.
func changed(parts []page.Part, sent map[string][]byte) ([]any, error) {
	var updates []any
	for _, part := range parts {
		encoded, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(sent[part.Name], encoded) {
			sent[part.Name] = encoded
			updates = append(updates, json.RawMessage(encoded))
		}
	}
	return updates, nil
}

// applications is the resource of NginxOperators.
const applications = "nginxoperators"

// applicationFeed holds the objects of an application as the watches report them.
type applicationFeed struct {
	key     types.NamespacedName
	changes *changes

	mu        sync.Mutex
	nginx     map[string]v1alpha2.NginxOperator
	pods      map[string]corev1.Pod
	revisions map[string]appsv1.ControllerRevision
	maps      map[string]corev1.ConfigMap
	events    map[string]eventsv1.Event
	backups   map[string]page.Backup
	zones     map[string]string
	notShown  map[string]string
	// pending are the resources that have not been read yet, and lost why one cannot be read for the moment.
	pending map[string]bool
	lost    map[string]string
}

func newApplicationFeed(key types.NamespacedName) *applicationFeed {
	return &applicationFeed{
		key: key, changes: newChanges(),
		nginx: map[string]v1alpha2.NginxOperator{}, pods: map[string]corev1.Pod{}, revisions: map[string]appsv1.ControllerRevision{},
		maps: map[string]corev1.ConfigMap{}, events: map[string]eventsv1.Event{}, backups: map[string]page.Backup{},
		zones: map[string]string{}, notShown: map[string]string{}, pending: map[string]bool{}, lost: map[string]string{},
	}
}

// follow starts a watch of each resource. They end with the context.
func (f *applicationFeed) follow(ctx context.Context, v *Viewer) {
	named := fields.OneTermEqualSelector("metadata.name", f.key.Name).String()
	about := fields.Set{"regarding.kind": v1alpha2.Kind, "regarding.name": f.key.Name}.AsSelector().String()
	labels := naming.Selector(f.key.Name).String()
	start(ctx, v, f, resource[v1alpha2.NginxOperator]{applications, v1alpha2.GroupVersion, "", named, f.nginx, nil})
	start(ctx, v, f, resource[corev1.Pod]{"pods", corev1.SchemeGroupVersion, labels, "", f.pods, trimPod})
	start(ctx, v, f, resource[appsv1.ControllerRevision]{"controllerrevisions", appsv1.SchemeGroupVersion, labels, "", f.revisions, trimRevision})
	start(ctx, v, f, resource[corev1.ConfigMap]{"configmaps", corev1.SchemeGroupVersion, labels, "", f.maps, nil})
	start(ctx, v, f, resource[eventsv1.Event]{"events", eventsv1.SchemeGroupVersion, "", about, f.events, nil})
	start(ctx, v, f, resource[page.Backup]{"nginxbackups", backupv1alpha1.GroupVersion, "", "", f.backups, nil})
}

// trimPod drops what the page does not show.
func trimPod(p *corev1.Pod) { p.ManagedFields, p.Spec.Volumes, p.Spec.Containers = nil, nil, nil }

// trimRevision drops the template and the files of a revision.
func trimRevision(r *appsv1.ControllerRevision) { r.ManagedFields, r.Data.Raw = nil, nil }
