package apply

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

// occupied is an API server on which an object of every name exists, so that creating one fails. It
// counts all other applies.
type occupied struct {
	client.Client
	object  metav1.ObjectMeta
	applied int
	// gone is whether the object no longer exists when it is read.
	gone bool
	// labelled counts the labels that were restored.
	labelled int
}

func (o *occupied) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	var config metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &config); err != nil {
		return err
	}
	if patch.Type() == types.MergePatchType && config.UID == o.object.UID && config.Labels[naming.LabelApplication] == "web" {
		o.labelled++
		return nil
	}
	if config.ResourceVersion == apply.CreateOnly {
		return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, o.object.Name, errors.New("it exists"))
	}
	o.applied++
	return nil
}

func (o *occupied) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return errors.New("more than its metadata is read")
	}
	if o.gone {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, o.object.Name)
	}
	found.ObjectMeta = o.object
	return nil
}

// TestReclaimRecord: records in the history are reclaimed like objects. A record that turns out not
// to exist is not reported as a conflict.
func TestReclaimRecord(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	for name, tt := range map[string]struct {
		server   occupied
		failed   func(error) bool
		reason   string
		labelled int
	}{
		"the caches lag behind": {
			occupied{object: metav1.ObjectMeta{Labels: naming.Labels("web"), OwnerReferences: []metav1.OwnerReference{owner("ours", "web")}}}, behind, "", 0,
		},
		"its label was removed": {occupied{object: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner("ours", "web")}}}, behind, "", 1},
		"it is gone":            {occupied{gone: true}, apierrors.IsNotFound, "", 0},
		"of an earlier one":     {occupied{object: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner("earlier", "web")}}}, isNil, v1alpha2.ReasonNameConflict, 0},
	} {
		t.Run(name, func(t *testing.T) {
			planned, _, err := plan.Fresh(nginx, revision.Options{DefaultImage: "nginx"})
			if err != nil || len(planned.Records) != 1 {
				t.Fatalf("%d records: %v", len(planned.Records), err)
			}
			outcome := newOutcome()
			err = New(&tt.server, &tt.server).recordAll(t.Context(), application.Of(nginx), planned.Records, &outcome)
			if !tt.failed(err) || outcome.Refused.Reason != tt.reason || tt.server.labelled != tt.labelled {
				t.Errorf("error %v, refused: %q, labelled %d times, want %q, %d", err, outcome.Refused.Reason, tt.server.labelled, tt.reason, tt.labelled)
			}
		})
	}
}

func behind(err error) bool { return errors.Is(err, owned.ErrStaleCache) }
func isNil(err error) bool  { return err == nil }

// TestOutdatedRecord: if a revision exists and was changed meanwhile, the whole view of the history
// is stale.
func TestOutdatedRecord(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	record := revision.Record{Revision: history.Revision{Name: "web-1", UID: "one", Version: apply.CreateOnly}}
	outcome := newOutcome()
	server := &occupied{}
	if err := New(server, server).recordAll(t.Context(), application.Of(nginx), []revision.Record{record}, &outcome); !errors.Is(err, owned.ErrStaleCache) {
		t.Fatal(err)
	}
	if len(outcome.Recorded) > 0 || outcome.Refused.Reason != "" {
		t.Errorf("%+v", outcome)
	}
}

// TestRecordIsTooLarge: the message is short and contains the reason.
func TestRecordIsTooLarge(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	value := field.Invalid(field.NewPath("data"), strings.Repeat("x", 2<<20), "may not be more than 1048576 bytes")
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, "web-1", field.ErrorList{value})
	outcome := newOutcome()
	record := revision.Record{Revision: history.Revision{Name: "web-1"}}
	if err := classifyRecordError(record, invalid, application.Of(nginx), &outcome); err != nil {
		t.Errorf("it is an error to be tried again at once: %.200v", err)
	}
	if refused := outcome.Refused; refused.Reason != apply.ReasonRejected || !outcome.Retry || len(refused.Message) > 1000 ||
		!strings.Contains(refused.Message, "ControllerRevision web-1") || !strings.Contains(refused.Message, "may not be more than 1048576 bytes") {
		t.Errorf("it is refused %s %.1100q", refused.Reason, refused.Message)
	}
}

func owner(uid types.UID, name string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: name, UID: uid, Controller: new(true),
	}
}
