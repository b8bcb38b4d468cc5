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
	"example.com/nginx-operator/internal/kube/owned"
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
	if config.ResourceVersion == CreateOnly {
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

// TestReclaim: an object that exists but is not in the caches is written only if the caches cannot
// show it. If they are only stale, the decision was made without knowing the object.
func TestReclaim(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	tests := map[string]struct {
		labels  map[string]string
		owner   metav1.OwnerReference
		applied int
		failed  error
		reason  string
	}{
		"the caches lag behind": {labels: naming.Labels("web"), owner: owner("ours", "web"), failed: owned.ErrStaleCache},
		"its label was removed": {owner: owner("ours", "web"), applied: 1},
		"of another controller": {owner: metav1.OwnerReference{Kind: "Other", UID: "x", Controller: new(true)}, reason: v1alpha2.ReasonNameConflict},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			planned, _, err := plan.Fresh(nginx, revision.Options{DefaultImage: "nginx"})
			if err != nil {
				t.Fatal(err)
			}
			changes, err := settings.Compare(nginx, planned.Intents, nil)
			if err != nil {
				t.Fatal(err)
			}
			change := changes[0]
			server := &occupied{object: metav1.ObjectMeta{Name: change.Intent.Name, Labels: tt.labels, OwnerReferences: []metav1.OwnerReference{tt.owner}}}
			outcome := Outcome{Applied: map[owned.Key]owned.Object{}}
			err = New(server, server, settings).execute(t.Context(), nginx, change, &outcome)
			if !errors.Is(err, tt.failed) || server.applied != tt.applied || outcome.Refused.Reason != tt.reason {
				t.Errorf("error %v, applied %d times, refused: %q, want %v, %d, %q", err, server.applied, outcome.Refused.Reason, tt.failed, tt.applied, tt.reason)
			}
			if len(outcome.Failed) > 0 && !errors.Is(outcome.FirstFailure, err) || len(outcome.Failed) == 0 && outcome.FirstFailure != nil {
				t.Errorf("the first failure is %v, want %v", outcome.FirstFailure, err)
			}
			if wrote := len(outcome.Applied) > 0; wrote != (tt.applied > 0) {
				t.Errorf("it is said to be applied: %v", wrote)
			}
		})
	}
}
