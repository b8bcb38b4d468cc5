package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/restoration"
)

// execute restores what a pod has read. The content can be large, and is held in memory.
func (p *pass) execute(ctx context.Context, source job.RestoreSource, pod *corev1.Pod) (ctrl.Result, error) {
	p.use = p.Memory.Use(p.restore.Namespace)
	defer p.use.Release()
	result, err := p.fetchAndRestore(ctx, source, pod)
	if errors.Is(err, controller.ErrNoMemory) {
		return ctrl.Result{RequeueAfter: controller.MemoryRetry},
			p.updateStatus(ctx, outcome.Unrestored(p.restore, v1alpha1.ReasonInProgress, controller.MemoryMessage))
	}
	return result, err
}

func (p *pass) fetchAndRestore(ctx context.Context, source job.RestoreSource, pod *corev1.Pod) (ctrl.Result, error) {
	head, files, err := declarations.FetchFromPod(ctx, p.HTTP, pod.Status.PodIP, job.RestoreAuthToken(p.restore), p.use.Add)
	if errors.Is(err, controller.ErrNoMemory) {
		return ctrl.Result{}, err
	}
	if err != nil {
		return ctrl.Result{}, p.reportError(ctx, v1alpha1.ReasonUnreachable, fmt.Errorf(
			"pod %s has read the backup but does not answer (check whether a NetworkPolicy blocks the operator from port %d): %w", pod.Name, declarations.Port, err))
	}
	if source.SHA256 == "" {
		// No object has the digest. All later jobs have to read the same archive.
		source.SHA256 = head.SHA256
	}
	if source.SHA256 != head.SHA256 {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Unrestored(p.restore, v1alpha1.ReasonDamaged, fmt.Sprintf(
			"pod %s has read an archive with the digest sha256:%.64s, and NginxBackup %s has the digest sha256:%s",
			pod.Name, head.SHA256, p.restore.Spec.Backup.Name, source.SHA256)))
	}
	if err := p.use.Add(ctx, restoration.Cost(files)); err != nil {
		return ctrl.Result{}, err
	}
	backup, err := restoration.Parse(head.Info, files, p.restore.Namespace)
	if err != nil {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Unrestored(p.restore, v1alpha1.ReasonNotUsable, err.Error()))
	}
	request := restoration.RequestOf(p.restore, backup)
	other, unlock, err := p.lock(ctx, request.Target)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer unlock()
	if other != "" {
		return ctrl.Result{RequeueAfter: lockRetry}, p.updateStatus(ctx, outcome.Unrestored(p.restore, v1alpha1.ReasonInProgress,
			fmt.Sprintf("NginxRestore %s of the same application is in progress: wait for it, or delete it", other)))
	}
	return p.planAndApply(ctx, source, request, backup)
}

// planAndApply reads the existing objects, decides what to change, and applies it if there is no conflict.
func (p *pass) planAndApply(ctx context.Context, source job.RestoreSource, request restoration.Request, backup restoration.Backup) (ctrl.Result, error) {
	live, err := p.readLive(ctx, request, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	if what := live.Deleting(); what != "" {
		// The deletion may be observed before the watch for it is in place, so check again.
		return ctrl.Result{RequeueAfter: deletingRetry}, p.updateStatus(ctx, outcome.Planned(p.restore, request.Target, backup, nil,
			v1alpha1.ReasonTargetDeleting, what+" is being deleted: the restore waits until it is gone"))
	}
	plan, err := restoration.Build(request, backup, live)
	if err != nil {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Planned(p.restore, request.Target, backup, nil, v1alpha1.ReasonNotUsable, err.Error()))
	}
	if len(plan.Conflicts) > 0 && p.restore.Spec.OnConflict != v1alpha1.ConflictOverwrite && !job.DryRun(p.restore) {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Planned(p.restore, request.Target, backup, plan.Changes,
			v1alpha1.ReasonConflict, outcome.Conflict(plan.Conflicts, plan.Begun || p.extracted())))
	}
	if err := p.write(ctx, client.NewDryRunClient(p.Live), plan); err != nil {
		return ctrl.Result{}, p.reportWriteError(ctx, request, backup, plan, err)
	}
	return p.apply(ctx, source, request, backup, plan)
}

// deletingRetry is the interval at which the deletion of an object is checked.
const deletingRetry = 5 * time.Second

// reportWriteError reports why the API server rejected an object, and returns the error for a
// retry: the quota or the policy may change.
func (p *pass) reportWriteError(ctx context.Context, request restoration.Request, backup restoration.Backup, plan restoration.Plan, err error) error {
	if !controller.Refused(err) {
		return err
	}
	return errors.Join(err, p.updateStatus(ctx, outcome.Planned(p.restore, request.Target, backup, plan.Changes, v1alpha1.ReasonWriteRefused, err.Error())))
}

// readLive reads the existing objects that the restore may change.
func (p *pass) readLive(ctx context.Context, request restoration.Request, backup restoration.Backup) (restoration.Live, error) {
	live := restoration.Live{Nginx: &v1alpha2.NginxOperator{}, ConfigMaps: map[string]*corev1.ConfigMap{}}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.restore.Namespace, Name: request.Target}, live.Nginx)
	if apierrors.IsNotFound(err) {
		live.Nginx = nil
	} else if err != nil {
		return live, err
	}
	for _, name := range restoration.ConfigMaps(request, backup) {
		cm := &corev1.ConfigMap{}
		err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.restore.Namespace, Name: name}, cm)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return live, err
		}
		if err := p.use.Add(ctx, int64(cm.Size())); err != nil {
			return live, err
		}
		live.ConfigMaps[name] = cm
	}
	return live, nil
}

// apply applies a plan: first files, then ConfigMaps, then the application.
func (p *pass) apply(ctx context.Context, source job.RestoreSource, request restoration.Request, backup restoration.Backup, plan restoration.Plan) (ctrl.Result, error) {
	if len(plan.Volumes) > 0 {
		found, result, err := (&volumeRestore{p, source, request, backup, plan}).execute(ctx)
		if found == nil || err != nil {
			return result, err
		}
		plan = plan.WithVolumes(found)
	}
	if job.DryRun(p.restore) {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Restored(p.restore, request.Target, backup, plan, p.now))
	}
	// Report the changes before they are made: afterwards they are no differences any more.
	if err := p.updateStatus(ctx, outcome.Planned(p.restore, request.Target, backup, plan.Changes, v1alpha1.ReasonInProgress, "The objects are being written")); err != nil {
		return ctrl.Result{}, err
	}
	if err := p.write(ctx, p.Live, plan); err != nil {
		return ctrl.Result{}, p.reportWriteError(ctx, request, backup, plan, err)
	}
	return ctrl.Result{}, p.updateStatus(ctx, outcome.Restored(p.restore, request.Target, backup, plan, p.now))
}

// write writes the objects. If one has changed meanwhile, the API server rejects the write and the
// next pass starts again. With a dry-run client, the API server validates all objects before any is
// changed.
func (p *pass) write(ctx context.Context, by client.Client, plan restoration.Plan) error {
	for _, cm := range plan.ConfigMaps {
		if err := createOrUpdate(ctx, by, cm.DeepCopy()); err != nil {
			return fmt.Errorf("write ConfigMap %s: %w", cm.Name, err)
		}
	}
	if plan.Nginx == nil {
		return nil
	}
	if err := createOrUpdate(ctx, by, plan.Nginx.DeepCopy()); err != nil {
		return fmt.Errorf("write NginxOperator %s: %w", plan.Nginx.Name, err)
	}
	return nil
}

func createOrUpdate(ctx context.Context, by client.Client, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return by.Create(ctx, object, client.FieldOwner(controller.FieldManager))
	}
	return by.Update(ctx, object, client.FieldOwner(controller.FieldManager))
}

// target reads the restored application past the caches; nil if there is none.
func (p *pass) target(ctx context.Context) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.restore.Namespace, Name: p.restore.Status.Target}, nginx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the restored application: %w", err)
	}
	return nginx, nil
}
