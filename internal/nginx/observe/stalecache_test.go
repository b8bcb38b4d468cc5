package observe

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// liveReader has at most one NginxOperator, and counts the reads.
type liveReader struct {
	client.Reader
	nginx *v1alpha2.NginxOperator
	reads int
}

func (r *liveReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	r.reads++
	if r.nginx != nil {
		list.(*metav1.PartialObjectMetadataList).Items = []metav1.PartialObjectMetadata{{ObjectMeta: r.nginx.ObjectMeta}}
	}
	return nil
}

func of(uid types.UID, generation int64) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid, Generation: generation}}
}

// TestOutdated: a spec that is older than the one that objects were written for is not used.
func TestOutdated(t *testing.T) {
	tests := map[string]struct {
		// written is the generation annotation of an object of owner.
		written string
		owner   types.UID
		live    *v1alpha2.NginxOperator
		want    bool
		reads   int
	}{
		"of an earlier release":             {written: "", owner: "u1", live: of("u1", 4)},
		"up to date":                        {written: "3", owner: "u1", live: of("u1", 3)},
		"an object of earlier":              {written: "2", owner: "u1", live: of("u1", 3)},
		"behind":                            {written: "4", owner: "u1", live: of("u1", 4), want: true, reads: 1},
		"far behind":                        {written: "4", owner: "u1", live: of("u1", 9), want: true, reads: 1},
		"changed by another client":         {written: "999", owner: "u1", live: of("u1", 3), reads: 1},
		"no number":                         {written: "soon", owner: "u1", live: of("u1", 4)},
		"an object of a predecessor":        {written: "4", owner: "u0", live: of("u1", 3)},
		"gone meanwhile":                    {written: "4", owner: "u1", reads: 1},
		"recreated with a later generation": {written: "4", owner: "u1", live: of("u2", 7), reads: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: "web-config", Annotations: map[string]string{naming.AnnotationGeneration: tt.written},
				OwnerReferences: []metav1.OwnerReference{{UID: tt.owner, Controller: new(true)}},
			}}
			live := &liveReader{nginx: tt.live}
			err := (&Observer{live: live}).verifySpecFresh(t.Context(), application.Of(of("u1", 3)), &State{Owned: map[owned.Key]owned.Object{{Kind: "ConfigMap", Name: "web-config"}: cm}})
			got := errors.Is(err, owned.ErrStaleCache)
			if err != nil && !got || got != tt.want || live.reads != tt.reads {
				t.Errorf("outdated %v (%v), %d reads, want %v, %d", got, err, live.reads, tt.want, tt.reads)
			}
		})
	}
}

// recordReader contains ControllerRevisions.
type recordReader struct {
	client.Reader
	records []metav1.PartialObjectMetadata
}

func (r recordReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*metav1.PartialObjectMetadataList).Items = r.records
	return nil
}

// TestRemembers: a history that is older than the live one is stale.
func TestRemembers(t *testing.T) {
	record := func(uid, owner types.UID, state history.State, more ...string) metav1.PartialObjectMetadata {
		r := history.Revision{State: state}
		object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			UID: uid, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}, Labels: r.Labels(), Annotations: r.Annotations(),
		}}
		for _, key := range more {
			object.Annotations[key] = "changed"
		}
		return object
	}
	known := history.History{{UID: "r1", State: history.StateGood}, {UID: "r2", State: history.StateCandidate}}
	good, candidate := record("r1", "u1", history.StateGood), record("r2", "u1", history.StateCandidate)
	tests := map[string]struct {
		live   []metav1.PartialObjectMetadata
		behind bool
	}{
		"as it is shown":         {live: []metav1.PartialObjectMetadata{candidate, good}},
		"one has failed":         {live: []metav1.PartialObjectMetadata{good, record("r2", "u1", history.StateFailed)}, behind: true},
		"one has come further":   {live: []metav1.PartialObjectMetadata{good, record("r2", "u1", history.StateCandidate, naming.AnnotationStage)}, behind: true},
		"one has a note":         {live: []metav1.PartialObjectMetadata{good, record("r2", "u1", history.StateCandidate, "example.com/note")}},
		"there is one more":      {live: []metav1.PartialObjectMetadata{good, candidate, record("r3", "u1", history.StateCandidate)}, behind: true},
		"one was recreated":      {live: []metav1.PartialObjectMetadata{good, record("r9", "u1", history.StateCandidate)}, behind: true},
		"one is gone":            {live: []metav1.PartialObjectMetadata{good}},
		"those of a predecessor": {live: []metav1.PartialObjectMetadata{record("r0", "u0", history.StateFailed), good, candidate}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := (&Observer{live: recordReader{records: tt.live}}).VerifyHistoryFresh(t.Context(), application.Of(of("u1", 3)), known)
			if errors.Is(err, owned.ErrStaleCache) != tt.behind || (err != nil) != tt.behind {
				t.Errorf("got %v, behind: %t", err, tt.behind)
			}
		})
	}
}
