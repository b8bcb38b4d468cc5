// Package apply brings the cluster to what a pass decided. It writes all that an application owns: objects by package
// kube/apply, the history, and the annotations of pods.
package apply

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

var controllerRevisionGVK = appsv1.SchemeGroupVersion.WithKind(history.Kind)

// settingsOf mark what the operator writes for an application.
func settingsOf(app *application.Application) apply.Settings {
	return apply.Settings{
		FieldManager:         naming.FieldManager,
		OwnerKind:            app.Owner.GVK.Kind,
		OwnerName:            app.Owner.Name,
		OwnerLabel:           naming.LabelApplication,
		Labels:               naming.Labels,
		HashAnnotation:       naming.AnnotationIntent,
		GenerationAnnotation: naming.AnnotationGeneration,
		DroppedAnnotation:    naming.AnnotationDroppedFields,
		Written:              count,
	}
}

// Applier writes to the cluster.
type Applier struct {
	client client.Client
	live   client.Reader
	// shared is what the Appliers of all applications have in common.
	shared *apply.Applier
}

// New returns an Applier that writes with c and reads foreign objects with live.
func New(c client.Client, live client.Reader) *Applier {
	return &Applier{client: c, live: live, shared: apply.New(c, live, apply.Settings{})}
}

// objects returns what writes the objects of an application.
func (a *Applier) objects(app *application.Application) *apply.Applier {
	return a.shared.With(settingsOf(app))
}

// Outcome is what an apply did.
type Outcome struct {
	apply.Outcome
	// Recorded are the revisions as the history has them now.
	Recorded []history.Revision
}

func newOutcome() Outcome {
	return Outcome{Outcome: apply.Outcome{Applied: map[owned.Key]owned.Object{}}}
}

// Compare returns the changes that bring the cluster to the intents, in their order. It is pure.
//
// Objects without their label come first and alone: the intents were built from a state without them.
func Compare(app *application.Application, intents []owned.Intent, state observe.State) ([]apply.Change, error) {
	if len(state.Unlabelled) > 0 {
		return apply.Relabels(state.Unlabelled), nil
	}
	return settingsOf(app).Compare(app, intents, state.Owned)
}

// Suspend notes what would be written, without writing it.
func Suspend(changes []apply.Change, annotations []revision.PodAnnotations) Outcome {
	outcome := Outcome{Outcome: apply.Suspend(changes)}
	if len(annotations) > 0 {
		outcome.Pending = append(outcome.Pending, "Pod")
	}
	return outcome
}

// Apply writes the history, and then makes the changes in their order. Errors that the user has to fix are in the
// outcome; the error holds those that a retry may fix.
func (a *Applier) Apply(ctx context.Context, app *application.Application, records []revision.Record, changes []apply.Change) (Outcome, error) {
	outcome := newOutcome()
	var history error
	if !apply.IsRelabelOnly(changes) {
		history = a.recordAll(ctx, app, records, &outcome)
	}
	return outcome, errors.Join(history, a.objects(app).Apply(ctx, app, changes, &outcome.Outcome))
}
