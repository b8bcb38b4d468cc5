// Package bare makes the writes that an NginxOperator costs, without an operator. The capacity of
// the API server is the lower bound of the operator's own cost.
package bare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	v1alpha2ac "example.com/nginx-operator/api/v1alpha2/applyconfiguration/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/kube/statuswrite"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/apply"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/status"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/plan"
)

// Placeholders in a template for the values that differ between objects.
const (
	templateName = "measure-template-name"
	templateUID  = "measure-template-uid"
)

// Template holds the writes of one application. They are prepared in advance, so that making them
// costs the client almost nothing.
type Template struct {
	namespace string
	writes    []write
	status    body
	event     eventsv1.Event
}

// write is the apply of an object that an application owns.
type write struct {
	owned.Kind
	// name is the object's name, with templateName as a placeholder for the application's name.
	name string
	body
}

// body is a server-side apply as JSON.
type body []byte

func (b body) of(name string, uid types.UID) client.Patch {
	text := bytes.ReplaceAll(b, []byte(templateName), []byte(name))
	text = bytes.ReplaceAll(text, []byte(templateUID), []byte(uid))
	return client.RawPatch(types.ApplyYAMLPatchType, text)
}

// Kinds returns the kind of each object that an application owns.
func (t *Template) Kinds() []owned.Kind {
	var kinds []owned.Kind
	for _, o := range t.writes {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// NewTemplate returns the writes for an application in a namespace, as the operator would make
// them. sample is a status that the operator wrote.
func NewTemplate(namespace string, sample v1alpha2.NginxOperatorStatus) (*Template, error) {
	nginx := fleet.Object(namespace, 0)
	nginx.Name, nginx.UID = templateName, templateUID
	planned, blocked, err := plan.Fresh(nginx, revision.Options{DefaultImage: process.Image, InstanceImage: process.Image})
	if err != nil {
		return nil, err
	}
	if blocked.Reason != "" {
		return nil, fmt.Errorf("nothing can be planned for a default NginxOperator: %s", blocked.Message)
	}
	t := &Template{namespace: namespace, event: newEvent(namespace)}
	for _, record := range planned.Records {
		if err := t.add(revisions, record.Revision.Name, apply.NewRevision(application.Of(nginx), record.Revision)); err != nil {
			return nil, err
		}
	}
	for _, intent := range planned.Intents {
		if !intent.ShouldExist() {
			continue
		}
		if err := t.add(intent.Kind, intent.Name, intent.Config); err != nil {
			return nil, err
		}
	}
	config := v1alpha2ac.NginxOperatorStatus()
	if err := statuswrite.Convert(sample, config); err != nil {
		return nil, err
	}
	t.status, err = json.Marshal(status.ApplyConfiguration(nginx, config))
	return t, err
}

// revisions is the kind of the objects in the history.
var revisions = owned.Kind{
	Name: history.Kind,
	GVK:  appsv1.SchemeGroupVersion.WithKind(history.Kind),
	New:  func() owned.Object { return &appsv1.ControllerRevision{} },
}

func (t *Template) add(kind owned.Kind, name string, config runtime.ApplyConfiguration) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	t.writes = append(t.writes, write{kind, name, text})
	return nil
}

func newEvent(namespace string) eventsv1.Event {
	return eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace},
		ReportingController: naming.FieldManager,
		ReportingInstance:   naming.FieldManager,
		Type:                corev1.EventTypeNormal,
		Reason:              status.EventRolloutStarted,
		Action:              "Rollout",
		Note:                "The Deployment has been changed and its pods are being replaced",
	}
}

// Writers are the two clients that share the writes, as in a cluster.
type Writers struct {
	// Administrator creates NginxOperators.
	Administrator client.Client
	// Operator uses the operator's service account.
	Operator client.Client
}

// Applications creates n NginxOperators with every object that the operator would write for each,
// and returns how long that took.
func (t *Template) Applications(ctx context.Context, w Writers, n int) (time.Duration, error) {
	start := time.Now()
	err := fleet.Each(ctx, n, func(i int) error { return t.application(ctx, w, i) })
	return time.Since(start), err
}

func (t *Template) application(ctx context.Context, w Writers, i int) error {
	nginx := fleet.Object(t.namespace, i)
	if err := w.Administrator.Create(ctx, nginx); err != nil {
		return err
	}
	c := w.Operator
	for _, o := range t.writes {
		obj := o.New()
		obj.SetNamespace(t.namespace)
		obj.SetName(strings.ReplaceAll(o.name, templateName, nginx.Name))
		if err := c.Patch(ctx, obj, o.of(nginx.Name, nginx.UID), client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
			return err
		}
	}
	patch := t.status.of(nginx.Name, nginx.UID)
	if err := c.Status().Patch(ctx, nginx, patch, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	event := t.event.DeepCopy()
	event.Name = nginx.Name
	event.EventTime = metav1.NowMicro()
	event.Regarding = corev1.ObjectReference{
		APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind,
		Namespace: t.namespace, Name: nginx.Name, UID: nginx.UID,
	}
	return c.Create(ctx, event)
}

// Deployments creates n bare Deployments and returns how long that took.
func (t *Template) Deployments(ctx context.Context, c client.Client, namespace string, n int) (time.Duration, error) {
	var template appsv1.Deployment
	for _, o := range t.writes {
		if o.Name != "Deployment" {
			continue
		}
		if err := json.Unmarshal(o.body, &template); err != nil {
			return 0, err
		}
	}
	template.Namespace, template.OwnerReferences = namespace, nil
	start := time.Now()
	err := fleet.Each(ctx, n, func(i int) error {
		deployment := template.DeepCopy()
		deployment.Name = fleet.Name(i)
		return c.Create(ctx, deployment)
	})
	return time.Since(start), err
}
