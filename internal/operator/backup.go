package operator

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	backupcontroller "example.com/nginx-operator/internal/controller/backup"
)

// addBackupControllers adds the second operator. It shares nothing with the first but the
// process, and what any client of the API sees.
func addBackupControllers(ctx context.Context, mgr ctrl.Manager, options Options) error {
	for _, kind := range []string{"NginxBackup", "NginxBackupPolicy", "NginxRestore"} {
		if _, err := mgr.GetRESTMapper().RESTMapping(backupv1alpha1.GroupVersion.WithKind(kind).GroupKind()); err != nil {
			return fmt.Errorf("%w: apply config/crd, or run with --controllers=nginx", err)
		}
	}
	if err := backupcontroller.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	pods, err := addPods(mgr, options)
	if err != nil {
		return err
	}
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	jobs := &backupcontroller.Jobs{
		Client: mgr.GetClient(),
		Live:   live,
		Pods:   pods,
		Queue:  backupcontroller.NewQueue(mgr.GetClient(), options.BackupJobs, clock.RealClock{}),
		Image:  cmp.Or(options.BackupImage, options.InstanceImage),
	}
	backups := &backupcontroller.Backups{
		Client:   mgr.GetClient(),
		Live:     live,
		Jobs:     jobs,
		Recorder: mgr.GetEventRecorder(backupcontroller.FieldManager),
		Version:  options.Version,
		Clock:    clock.RealClock{},
	}
	if err := backups.SetupWithManager(mgr, pods, options.Concurrency); err != nil {
		return err
	}
	restores := &backupcontroller.Restores{
		Client:   mgr.GetClient(),
		Live:     live,
		Jobs:     jobs,
		HTTP:     podClient(),
		Recorder: mgr.GetEventRecorder(backupcontroller.FieldManager),
		Clock:    clock.RealClock{},
	}
	if err := restores.SetupWithManager(mgr, pods, options.Concurrency); err != nil {
		return err
	}
	targets := &backupcontroller.Targets{Client: mgr.GetClient(), Clock: clock.RealClock{}}
	if err := targets.SetupWithManager(mgr, options.Concurrency); err != nil {
		return err
	}
	policies := &backupcontroller.Policies{
		Client:        mgr.GetClient(),
		Live:          live,
		Jobs:          jobs,
		Recorder:      mgr.GetEventRecorder(backupcontroller.FieldManager),
		Clock:         clock.RealClock{},
		ListingPeriod: options.BackupListingPeriod,
	}
	return policies.SetupWithManager(mgr, pods, options.Concurrency)
}

// addPods adds a cache with the pods of jobs.
func addPods(mgr ctrl.Manager, options Options) (ctrlcache.Cache, error) {
	pods, err := newTogether(mgr.GetConfig(), ctrlcache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Scheme:            mgr.GetScheme(),
		Mapper:            mgr.GetRESTMapper(),
		DefaultNamespaces: options.cachedNamespaces(),
		ByObject:          map[client.Object]ctrlcache.ByObject{&corev1.Pod{}: {Label: jobSelector(), Transform: trimJobPod}},

		DefaultWatchErrorHandler: countWatchErrors,
	})
	if err != nil {
		return nil, err
	}
	return pods, mgr.Add(pods)
}

// podDialTimeout is how long a pod that says it is ready may take to accept a connection.
const podDialTimeout = 3 * time.Second

// podClient asks the pods of jobs, which are on the pod network, and each asked once.
func podClient() *http.Client {
	dialer := &net.Dialer{Timeout: podDialTimeout}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
}

// jobSelector selects the jobs of the backup kinds, and their pods.
func jobSelector() labels.Selector {
	exists, err := labels.NewRequirement(job.LabelTask, selection.Exists, nil)
	if err != nil {
		panic("operator: the label key is a legal constant: " + err.Error())
	}
	return labels.NewSelector().Add(*exists)
}

// trimJobPod keeps how far a job's pod has come, and its words.
func trimJobPod(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{}
	}
	return obj, nil
}

// trimJob keeps how far a job has come.
func trimJob(obj any) (any, error) {
	if j, ok := obj.(*batchv1.Job); ok {
		j.ManagedFields = nil
		j.Spec = batchv1.JobSpec{}
	}
	return obj, nil
}
