package apply

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// occupied is an API server that has an object of every name, and does not let it be created. It
// counts what is applied to it nevertheless.
type occupied struct {
	client.Client
	object  metav1.ObjectMeta
	applied int
	// gone tells that the object is not there any more, when it is read.
	gone bool
	// labelled counts the labels that were given back.
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
	if config.ResourceVersion == createOnly {
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

// TestReclaim: what is there although the caches do not show it is written only if they cannot show
// it. If they lag behind, it was decided without knowing the object.
func TestReclaim(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	tests := map[string]struct {
		labels  map[string]string
		owner   metav1.OwnerReference
		applied int
		failed  error
		reason  string
	}{
		"the caches lag behind": {labels: naming.Labels("web"), owner: owner("ours", "web"), failed: observe.ErrBehind},
		"its label was removed": {owner: owner("ours", "web"), applied: 1},
		"of somebody else":      {owner: metav1.OwnerReference{Kind: "Other", UID: "x", Controller: new(true)}, reason: v1alpha2.ReasonNameConflict},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan, _, err := desired.Build(nginx, observe.State{}, desired.Options{DefaultImage: "nginx"})
			if err != nil {
				t.Fatal(err)
			}
			changes, err := Decide(nginx, plan, observe.State{})
			if err != nil {
				t.Fatal(err)
			}
			change := changes[0]
			server := &occupied{object: metav1.ObjectMeta{Name: change.Intent.Name, Labels: tt.labels, OwnerReferences: []metav1.OwnerReference{tt.owner}}}
			outcome := Outcome{Applied: map[observe.Key]observe.Object{}}
			err = New(server, server).carryOut(t.Context(), nginx, change, &outcome)
			if !errors.Is(err, tt.failed) || server.applied != tt.applied || outcome.Refused.Reason != tt.reason {
				t.Errorf("error %v, applied %d times, refused: %q, want %v, %d, %q", err, server.applied, outcome.Refused.Reason, tt.failed, tt.applied, tt.reason)
			}
			if wrote := len(outcome.Applied) > 0; wrote != (tt.applied > 0) {
				t.Errorf("it is said to be applied: %v", wrote)
			}
		})
	}
}

// TestReclaimRecord: the same of the history. That nothing is there after all is no reason to tell of somebody else's.
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
			plan, _, err := desired.Build(nginx, observe.State{}, desired.Options{DefaultImage: "nginx"})
			if err != nil || len(plan.Records) != 1 {
				t.Fatalf("%d records: %v", len(plan.Records), err)
			}
			outcome := Outcome{Applied: map[observe.Key]observe.Object{}}
			err = New(&tt.server, &tt.server).recordAll(t.Context(), nginx, plan.Records, &outcome)
			if outcome.Outdated != behind(err) {
				t.Errorf("the history is another one: %t, after %v", outcome.Outdated, err)
			}
			if !tt.failed(err) || outcome.Refused.Reason != tt.reason || tt.server.labelled != tt.labelled {
				t.Errorf("error %v, refused: %q, labelled %d times, want %q, %d", err, outcome.Refused.Reason, tt.server.labelled, tt.reason, tt.labelled)
			}
		})
	}
}

func behind(err error) bool { return errors.Is(err, observe.ErrBehind) }
func isNil(err error) bool  { return err == nil }

// TestOutdatedRecord: a revision that is there, and was changed meanwhile, tells that the whole view of the history is old.
func TestOutdatedRecord(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	record := desired.Record{Revision: history.Revision{Name: "web-1", UID: "one", Version: createOnly}}
	outcome := Outcome{Applied: map[observe.Key]observe.Object{}}
	server := &occupied{}
	if err := New(server, server).recordAll(t.Context(), nginx, []desired.Record{record}, &outcome); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if !outcome.Outdated || len(outcome.Recorded) > 0 || outcome.Refused.Reason != "" {
		t.Errorf("%+v", outcome)
	}
}
