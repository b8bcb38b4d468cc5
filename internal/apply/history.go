package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// recordAll keeps the history of an application. It comes before all other writes, and a
// Deployment does not get another template when it fails: what the next pass has to
// remember would be lost.
func (a *Applier) recordAll(ctx context.Context, nginx *v1alpha2.NginxOperator, records []desired.Record, outcome *Outcome) error {
	var errs []error
	for _, record := range records {
		err := a.record(ctx, nginx, record)
		if err == nil {
			logRecord(ctx, record)
			if !record.Delete {
				outcome.Recorded = append(outcome.Recorded, record.Revision)
			}
			continue
		}
		if record.Vital {
			outcome.Failed = append(outcome.Failed, observe.Key{Kind: desired.HistoryKind, Name: record.Revision.Name})
		}
		if apierrors.IsConflict(err) && !record.Revision.Exists() {
			err = a.reclaimRecord(ctx, nginx, record, err)
		}
		outcome.Outdated = outcome.Outdated || outdated(record, err)
		errs = append(errs, judgeRecord(record, err, nginx, outcome))
	}
	return errors.Join(errs...)
}

// outdated tells whether a write failed since the revision is not, or not any more, what the caches show.
func outdated(record desired.Record, err error) bool {
	return errors.Is(err, observe.ErrBehind) || apierrors.IsConflict(err) && record.Revision.Exists()
}

// reclaimRecord looks at a revision that exists although the caches do not show it. It returns the conflict if it belongs
// to somebody else.
func (a *Applier) reclaimRecord(ctx context.Context, nginx *v1alpha2.NginxOperator, record desired.Record, conflict error) error {
	found, err := a.find(ctx, nginx, revisions, record.Revision.Name)
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(found, nginx) {
		return conflict
	}
	if _, err := a.giveLabel(ctx, nginx, revisions, found); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s %s exists", observe.ErrBehind, desired.HistoryKind, found.Name)
}

func logRecord(ctx context.Context, record desired.Record) {
	r := record.Revision
	logf.FromContext(ctx).Info("recorded", "revision", r.Name, "number", r.Number,
		"state", r.State, "stage", r.Stage, "deleted", record.Delete, "reason", r.Failure.Reason)
}

// judgeRecord sorts the failure of a write as judge does.
func judgeRecord(record desired.Record, err error, nginx *v1alpha2.NginxOperator, outcome *Outcome) error {
	name := record.Revision.Name
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		outcome.Terminating = true
		return nil
	case apierrors.IsConflict(err) && !record.Revision.Exists():
		// One of an earlier NginxOperator of the same name, which garbage collection is about
		// to remove, or somebody else's.
		outcome.refuse(desired.Blocked{
			Reason: v1alpha2.ReasonNameConflict,
			Message: fmt.Sprintf("%s %s exists in namespace %s and does not belong to this NginxOperator: delete it",
				desired.HistoryKind, name, nginx.Namespace),
		})
		outcome.Retry = true
		return nil
	case unacceptable(err):
		// A revision holds what was declared twice, with the pods made of it, and can be too large
		// although the NginxOperator is not.
		outcome.refuse(desired.Blocked{Reason: v1alpha2.ReasonRejected, Message: refusal(desired.HistoryKind, name, err)})
		outcome.Retry = true
		return nil
	case apierrors.IsForbidden(err):
		outcome.refuse(desired.Blocked{Reason: v1alpha2.ReasonForbidden, Message: refusal(desired.HistoryKind, name, err)})
	}
	return fmt.Errorf("record %s %s: %w", desired.HistoryKind, name, err)
}

func (a *Applier) record(ctx context.Context, nginx *v1alpha2.NginxOperator, record desired.Record) error {
	r := record.Revision
	live := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: r.Name}}
	switch {
	case record.Delete:
		return client.IgnoreNotFound(a.client.Delete(ctx, live, client.Preconditions{UID: new(r.UID), ResourceVersion: new(r.Version)}))
	case !r.Exists():
		return a.createRecord(ctx, nginx, record)
	}
	// The data cannot change, and need not be sent: the cache does not have all of it.
	patch, err := json.Marshal(map[string]any{
		"revision": r.Number,
		"metadata": map[string]any{"uid": r.UID, "resourceVersion": r.Version, "labels": r.Labels(), "annotations": nullable(r.Annotations())},
	})
	if err != nil {
		return err
	}
	return a.client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(naming.FieldManager))
}

func (a *Applier) createRecord(ctx context.Context, nginx *v1alpha2.NginxOperator, record desired.Record) error {
	object := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: record.Revision.Name}}
	return a.apply(ctx, object, NewRevision(nginx, record.Revision).WithResourceVersion(createOnly))
}

// NewRevision is the ControllerRevision of a revision that has none yet.
func NewRevision(nginx *v1alpha2.NginxOperator, r history.Revision) *appsv1ac.ControllerRevisionApplyConfiguration {
	annotations := r.Annotations()
	for key, value := range annotations {
		if value == "" {
			delete(annotations, key)
		}
	}
	return appsv1ac.ControllerRevision(r.Name, nginx.Namespace).
		WithLabels(naming.Labels(nginx.Name)).
		WithLabels(r.Labels()).
		WithAnnotations(annotations).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha2.GroupVersion.String()).
			WithKind(v1alpha2.Kind).
			WithName(nginx.Name).
			WithUID(nginx.UID).
			WithController(true)).
		WithRevision(r.Number).
		WithData(runtime.RawExtension{Raw: r.Raw})
}

// nullable lets a merge patch remove what is empty.
func nullable(values map[string]string) map[string]any {
	all := make(map[string]any, len(values))
	for key, value := range values {
		all[key] = value
		if value == "" {
			all[key] = nil
		}
	}
	return all
}
