package manager

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
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/backup"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/controller/nginxoperator"
	"example.com/nginx-operator/internal/backup/controller/policy"
	"example.com/nginx-operator/internal/backup/controller/restore"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// addBackupControllers adds the second operator. It shares only the process with the first one, and
// sees of it only what any client of the API sees.
func addBackupControllers(ctx context.Context, mgr ctrl.Manager, options Options, content *content, keys pipeline.KeyRing) error {
	if err := verifyBackupKinds(mgr); err != nil {
		return err
	}
	if err := controller.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	pods, err := addPods(ctx, mgr, options, content)
	if err != nil {
		return err
	}
	live, err := newLive(mgr)
	if err != nil {
		return err
	}
	runner := &jobs.Runner{
		Client:     mgr.GetClient(),
		Live:       live,
		PodReader:  pods,
		Queue:      jobs.NewQueue(mgr.GetClient(), options.BackupJobs, clock.RealClock{}),
		PodOptions: job.PodOptions{Image: cmp.Or(options.BackupImage, options.InstanceImage), Settings: options.podSettings()},
		Keys:       waitForKeys(keys),
	}
	memory := controller.NewMemory()
	backups := &backup.Reconciler{
		Client:   mgr.GetClient(),
		Live:     live,
		Runner:   runner,
		Recorder: mgr.GetEventRecorder(controller.FieldManager),
		Memory:   memory,
		Version:  options.Version,
		Clock:    clock.RealClock{},
	}
	if err := backups.SetupWithManager(mgr, pods, options.Concurrency); err != nil {
		return err
	}
	restores := &restore.Reconciler{
		Client:   mgr.GetClient(),
		Live:     live,
		Runner:   runner,
		HTTP:     podClient(),
		Recorder: mgr.GetEventRecorder(controller.FieldManager),
		Clock:    clock.RealClock{},
		Memory:   memory,
	}
	if err := restores.SetupWithManager(mgr, pods, options.Concurrency); err != nil {
		return err
	}
	if err := (&nginxoperator.Reconciler{Client: mgr.GetClient(), Clock: clock.RealClock{}}).SetupWithManager(mgr, options.Concurrency); err != nil {
		return err
	}
	policies := &policy.Reconciler{
		Client:        mgr.GetClient(),
		Live:          live,
		Runner:        runner,
		Recorder:      mgr.GetEventRecorder(controller.FieldManager),
		Clock:         clock.RealClock{},
		ListingPeriod: options.BackupListingPeriod,
	}
	return policies.SetupWithManager(mgr, pods, options.Concurrency)
}

// verifyBackupKinds returns an error unless the API server serves the backup kinds.
func verifyBackupKinds(mgr ctrl.Manager) error {
	for _, kind := range []string{"NginxBackup", "NginxBackupPolicy", "NginxRestore"} {
		if _, err := mgr.GetRESTMapper().RESTMapping(backupv1alpha1.GroupVersion.WithKind(kind).GroupKind()); err != nil {
			return fmt.Errorf("%w: apply config/crd, or run with --controllers=nginx", err)
		}
	}
	return nil
}

// newLive returns a client that reads from the API server.
func newLive(mgr ctrl.Manager) (client.Client, error) {
	return client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

// jobPods returns what the pods of jobs may take. The main cache charges pods of applications, which may be the same ones.
func jobPods(content *content) cachedcontent.Allowance {
	return content.allowance("Pod of a job", freeObject)
}

// addPods adds a cache with the pods of jobs.
func addPods(ctx context.Context, mgr ctrl.Manager, options Options, content *content) (ctrlcache.Cache, error) {
	allowance := jobPods(content)
	transform := content.Within(allowance, content.UpTo(maxPod, trimJobPod))
	pods, err := caches.NewConcurrent(mgr.GetConfig(), ctrlcache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Scheme:            mgr.GetScheme(),
		Mapper:            mgr.GetRESTMapper(),
		DefaultNamespaces: options.cachedNamespaces(),
		ByObject:          map[client.Object]ctrlcache.ByObject{&corev1.Pod{}: {Label: jobSelector(), Transform: transform}},

		DefaultWatchErrorHandler: countWatchErrors,
	})
	if err != nil {
		return nil, err
	}
	if err := watchDeleted(ctx, pods, &corev1.Pod{}, allowance); err != nil {
		return nil, err
	}
	return pods, mgr.Add(pods)
}

// podDialTimeout bounds how long a ready pod may take to accept a connection.
const podDialTimeout = 3 * time.Second

// podClient returns a client for the pods of jobs. It uses no proxy, since they are on the pod
// network, and no keep-alive, since each is requested once.
func podClient() *http.Client {
	dialer := &net.Dialer{Timeout: podDialTimeout}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: dialer.DialContext,
		// A job's pod does not compress, and must not send a little that becomes much, or megabytes of headers.
		DisableCompression: true, MaxResponseHeaderBytes: instanceapi.MaxAnswerHeader,
	}}
}

// jobSelector selects the jobs of the backup kinds, and their pods.
func jobSelector() labels.Selector {
	exists, err := labels.NewRequirement(job.LabelTask, selection.Exists, nil)
	if err != nil {
		panic("operator: the label key is a legal constant: " + err.Error())
	}
	return labels.NewSelector().Add(*exists)
}

// trimJobPod removes everything but the metadata and status of a job's pod.
func trimJobPod(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{}
	}
	return obj, nil
}

// trimJob removes everything but the metadata and status of a job.
func trimJob(obj any) (any, error) {
	if j, ok := obj.(*batchv1.Job); ok {
		j.ManagedFields = nil
		j.Spec = batchv1.JobSpec{}
	}
	return obj, nil
}
