// Package controller reconciles NginxOperators: it reads one, makes a pass over the application that it declares, and
// writes its status. It also holds the watches.
package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	v1alpha2ac "example.com/nginx-operator/api/v1alpha2/applyconfiguration/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/optional"
	"example.com/nginx-operator/internal/kube/statuswrite"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/pipeline"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/internal/nginx/status"
)

// Reconciler keeps the cluster as every NginxOperator declares it.
type Reconciler struct {
	Client   client.Client
	Pipeline *pipeline.Pipeline
	Recorder events.EventRecorder
	// Optional are the kinds that the cluster may lack.
	Optional *optional.Kinds
}

// Reconcile is one pass over one NginxOperator.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := r.Client.Get(ctx, req.NamespacedName, nginx)
	if apierrors.IsNotFound(err) || err == nil && nginx.DeletionTimestamp != nil {
		// Garbage collection removes what it owns. That can take long if an object has a finalizer.
		r.Pipeline.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.Pipeline.Run(ctx, application.Of(nginx))
	switch {
	case result == nil || err != nil:
		return ctrl.Result{}, err
	case result.Held:
		return pipeline.Requeue(result.After, nil)
	}
	if result.Status.Changed {
		if wait := r.Pipeline.StatusWait(req.NamespacedName, result.Declared); wait > 0 {
			return pipeline.Requeue(rollout.Soonest(result.After, wait), result.Failure)
		}
	}
	return pipeline.Requeue(result.After, errors.Join(result.Failure, r.writeStatus(ctx, nginx, result.Status)))
}

// writeStatus writes the status, at most once and only if it changed. It publishes events afterwards, so that
// each describes a persisted state.
func (r *Reconciler) writeStatus(ctx context.Context, nginx *v1alpha2.NginxOperator, next status.Result) error {
	if !next.Changed {
		return nil
	}
	err := statuswrite.Apply(ctx, r.Client, naming.FieldManager, next.Status, v1alpha2ac.NginxOperatorStatus(), func(s *v1alpha2ac.NginxOperatorStatusApplyConfiguration) runtime.ApplyConfiguration {
		return status.ApplyConfiguration(nginx, s)
	})
	if err != nil {
		// The resource may have been deleted in the meantime.
		return client.IgnoreNotFound(err)
	}
	for _, e := range r.Pipeline.News(client.ObjectKeyFromObject(nginx), next) {
		r.Recorder.Eventf(nginx, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
	return nil
}
