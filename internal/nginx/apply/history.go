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
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
)

// recordAll writes the history of an application. It comes before all other writes. If it fails, a Deployment does
// not get another template, because the next pass would not know about it.
func (a *Applier) recordAll(ctx context.Context, app *application.Application, records []revision.Record, outcome *Outcome) error {
	var errs []error
	for _, record := range records {
		err := a.record(ctx, app, record)
		if err == nil {
			logRecord(ctx, record)
			if !record.Delete {
				outcome.Recorded = append(outcome.Recorded, record.Revision)
			}
			continue
		}
		if record.Essential {
			outcome.Failed = append(outcome.Failed, owned.Key{Kind: history.Kind, Name: record.Revision.Name})
		}
		if apierrors.IsConflict(err) && !record.Revision.Exists() {
			err = a.resolveAlreadyExists(ctx, app, record, err)
		}
		errs = append(errs, classifyRecordError(record, err, app, outcome))
	}
	return errors.Join(errs...)
}

// resolveAlreadyExists handles a revision that exists although the caches do not show it. It returns the conflict if the
// revision is foreign.
func (a *Applier) resolveAlreadyExists(ctx context.Context, app *application.Application, record revision.Record, conflict error) error {
	found, err := a.objects(app).Find(ctx, app, controllerRevisionGVK, record.Revision.Name)
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(found, app) {
		return conflict
	}
	if found.DeletionTimestamp == nil && found.Labels[naming.LabelApplication] != app.Name {
		if err := a.objects(app).RestoreLabel(ctx, app, controllerRevisionGVK, found); err != nil {
			return fmt.Errorf("label %s %s: %w", history.Kind, found.Name, err)
		}
	}
	return fmt.Errorf("%w: %s %s exists", owned.ErrStaleCache, history.Kind, found.Name)
}

func logRecord(ctx context.Context, record revision.Record) {
	r := record.Revision
	logf.FromContext(ctx).Info("recorded", "revision", r.Name, "number", r.Number,
		"state", r.State, "stage", r.Stage, "deleted", record.Delete, "reason", r.Failure.Reason)
}

// classifyRecordError sorts the failure of a write as kube/apply does.
func classifyRecordError(record revision.Record, err error, app *application.Application, outcome *Outcome) error {
	name := record.Revision.Name
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		outcome.Terminating = true
		return nil
	case apierrors.IsConflict(err) && record.Revision.Exists():
		return fmt.Errorf("%w: record %s %s: %w", owned.ErrStaleCache, history.Kind, name, err)
	case apierrors.IsConflict(err):
		// It belongs to an earlier NginxOperator of the same name, which garbage collection is about to remove, or is
		// foreign.
		outcome.Refuse(apply.Refusal{
			Reason: apply.ReasonNameConflict,
			Message: fmt.Sprintf("%s %s exists in namespace %s and does not belong to this NginxOperator: delete it",
				history.Kind, name, app.Namespace),
		})
		outcome.Retry = true
		return nil
	case apply.IsInvalid(err):
		// A revision holds the spec twice, with the pod template made of it, and can be too large although the
		// NginxOperator is not.
		outcome.Refuse(apply.Refusal{Reason: apply.ReasonRejected, Message: apply.RefusalMessage(history.Kind, name, err)})
		outcome.Retry = true
		return nil
	case apierrors.IsForbidden(err):
		outcome.Refuse(apply.Refusal{Reason: apply.ReasonForbidden, Message: apply.RefusalMessage(history.Kind, name, err)})
	}
	return fmt.Errorf("record %s %s: %w", history.Kind, name, err)
}

func (a *Applier) record(ctx context.Context, app *application.Application, record revision.Record) error {
	r := record.Revision
	live := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: r.Name}}
	switch {
	case record.Delete:
		return client.IgnoreNotFound(a.client.Delete(ctx, live, client.Preconditions{UID: new(r.UID), ResourceVersion: new(r.Version)}))
	case !r.Exists():
		return a.createRecord(ctx, app, record)
	}
	// The data cannot change and is not sent: the cache does not have all of it.
	patch, err := json.Marshal(map[string]any{
		"revision": r.Number,
		"metadata": map[string]any{"uid": r.UID, "resourceVersion": r.Version, "labels": r.Labels(), "annotations": nullable(r.Annotations())},
	})
	if err != nil {
		return err
	}
	return a.client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(naming.FieldManager))
}

func (a *Applier) createRecord(ctx context.Context, app *application.Application, record revision.Record) error {
	object := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: record.Revision.Name}}
	return a.objects(app).ApplyConfiguration(ctx, object, NewRevision(app, record.Revision).WithResourceVersion(apply.CreateOnly))
}

// NewRevision returns the ControllerRevision of a revision that has none yet.
func NewRevision(app *application.Application, r history.Revision) *appsv1ac.ControllerRevisionApplyConfiguration {
	annotations := r.Annotations()
	for key, value := range annotations {
		if value == "" {
			delete(annotations, key)
		}
	}
	return appsv1ac.ControllerRevision(r.Name, app.Namespace).
		WithLabels(naming.Labels(app.Name)).
		WithLabels(r.Labels()).
		WithAnnotations(annotations).
		WithOwnerReferences(app.Owner.Reference()).
		WithRevision(r.Number).
		WithData(runtime.RawExtension{Raw: r.Raw})
}

// nullable lets a merge patch remove empty values.
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
