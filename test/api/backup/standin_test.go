package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/agent"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// standIn stands in for the Job controller, the kubelets and the garbage collector, as far as
// jobs of backups need them, and for the operator of the applications.
type standIn struct {
	mu sync.Mutex
	// places are the namespaces that it looks after.
	places map[string]*place
	// pods are those that run, or have run, by the UIDs of their jobs.
	pods map[types.UID]*pod
}

// standInPause is how often it looks.
const standInPause = 40 * time.Millisecond

// place is what jobs of a namespace find on their nodes.
type place struct {
	// claim is the folder that every pvc:// is on, content has the applications' claims by
	// their names.
	claim, content string

	mu sync.Mutex
	// fate decides what becomes of a job, nil: nothing out of the ordinary.
	fate func(*batchv1.Job) fate
	// active and most are how many jobs run, and the most that ever did.
	active, most int
	started      []string
}

// fate is what becomes of a job's pod.
type fate struct {
	// killed: it is killed before it has done anything, and leaves no word.
	killed bool
	// unheard: it does its work, and is deleted before anybody has read its word.
	unheard bool
	// hold keeps it from its work, whatever it is told, until it is closed.
	hold <-chan struct{}
	// cut kills it when it is closed. What it does afterwards reaches nobody.
	cut <-chan struct{}
}

// pod is one that runs.
type pod struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func newStandIn() *standIn {
	return &standIn{places: map[string]*place{}, pods: map[types.UID]*pod{}}
}

func (s *standIn) add(namespace string, p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[namespace] = p
}

// run looks after everything until the context ends.
func (s *standIn) run(ctx context.Context) error {
	tick := time.NewTicker(standInPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-tick.C:
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("the stand-in of Kubernetes: %w", err)
		}
	}
}

func (s *standIn) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		p.cancel()
	}
}

// look does what is to be done now. Owners are listed after what they own: who is missing
// then is gone.
func (s *standIn) look(ctx context.Context) error {
	labelled := client.HasLabels{v1alpha1.LabelBackup}
	var pods corev1.PodList
	var configMaps corev1.ConfigMapList
	var jobs batchv1.JobList
	var backups v1alpha1.NginxBackupList
	var applications v1alpha2.NginxOperatorList
	if err := errors.Join(kube.List(ctx, &pods, labelled), kube.List(ctx, &configMaps, labelled), kube.List(ctx, &jobs, labelled),
		kube.List(ctx, &backups), kube.List(ctx, &applications)); err != nil {
		return err
	}
	alive := map[types.UID]bool{}
	for _, b := range backups.Items {
		alive[b.UID] = true
	}
	var errs []error
	for i := range configMaps.Items {
		errs = append(errs, s.collect(ctx, &configMaps.Items[i], alive))
	}
	for i := range jobs.Items {
		errs = append(errs, s.collect(ctx, &jobs.Items[i], alive))
	}
	alive = map[types.UID]bool{}
	for i := range jobs.Items {
		alive[jobs.Items[i].UID] = true
		s.start(ctx, &jobs.Items[i])
	}
	for i := range pods.Items {
		errs = append(errs, s.bury(ctx, &pods.Items[i], alive))
	}
	for i := range applications.Items {
		errs = append(errs, observe(ctx, &applications.Items[i]))
	}
	return errors.Join(errs...)
}

// observe says, in the place of the other operator, that there is nothing to do.
func observe(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	if nginx.Status.ObservedGeneration == nginx.Generation {
		return nil
	}
	text := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, nginx.Generation)
	return client.IgnoreNotFound(kube.Status().Patch(ctx, nginx, client.RawPatch(types.MergePatchType, []byte(text))))
}

// collect deletes what belongs to a backup that is gone.
func (s *standIn) collect(ctx context.Context, object client.Object, alive map[types.UID]bool) error {
	owners := object.GetOwnerReferences()
	if len(owners) == 0 || alive[owners[0].UID] {
		return nil
	}
	return client.IgnoreNotFound(kube.Delete(ctx, object, client.PropagationPolicy("Background")))
}

// bury tells a pod to end that is to be deleted, or whose job is gone, and removes it when
// it has ended.
func (s *standIn) bury(ctx context.Context, object *corev1.Pod, alive map[types.UID]bool) error {
	owner := object.OwnerReferences[0].UID
	if object.DeletionTimestamp == nil && alive[owner] {
		return nil
	}
	s.mu.Lock()
	running := s.pods[owner]
	s.mu.Unlock()
	if running != nil {
		running.cancel()
		select {
		case <-running.ended:
		default:
			if object.DeletionTimestamp != nil {
				return nil
			}
			// It has its node's grace.
			return client.IgnoreNotFound(kube.Delete(ctx, object))
		}
	}
	return client.IgnoreNotFound(kube.Delete(ctx, object, client.GracePeriodSeconds(0)))
}

// start starts the pod of a job, once.
func (s *standIn) start(ctx context.Context, j *batchv1.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[j.Namespace]
	if p == nil || s.pods[j.UID] != nil || j.DeletionTimestamp != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	running := &pod{cancel: cancel, ended: make(chan struct{})}
	s.pods[j.UID] = running
	go func() {
		defer cancel()
		p.begin(j)
		result, object, err := p.execute(ctx, j)
		close(running.ended)
		p.end()
		if err == nil {
			err = p.tell(context.WithoutCancel(ctx), j, object, result)
		}
		if err != nil && client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			panic(fmt.Sprintf("the stand-in of job %s: %v", j.Name, err))
		}
	}()
}

func (p *place) begin(j *batchv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active++
	p.most = max(p.most, p.active)
	p.started = append(p.started, j.Name)
}

func (p *place) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
}

func (p *place) fateOf(j *batchv1.Job) fate {
	p.mu.Lock()
	decide := p.fate
	p.mu.Unlock()
	if decide == nil {
		return fate{}
	}
	return decide(j)
}

// doom sets what becomes of the jobs from now on.
func (p *place) doom(decide func(*batchv1.Job) fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = decide
}

// names are the jobs that have ever started, in their order.
func (p *place) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.started)
}

// outcome is how a container ended. Without a message it was killed.
type outcome struct {
	message string
	code    int32
	unheard bool
}

// execute creates the pod of a job and runs it to its end.
func (p *place) execute(ctx context.Context, j *batchv1.Job) (outcome, *corev1.Pod, error) {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace, GenerateName: j.Name + "-", Labels: j.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true)}},
		},
		Spec: j.Spec.Template.Spec,
	}
	object.Labels[batchv1.JobNameLabel] = j.Name
	// A pod on a node is not deleted before the node says so.
	object.Spec.NodeName = "node"
	if err := kube.Create(ctx, object); err != nil {
		return outcome{}, nil, err
	}
	if err := status(ctx, object, corev1.PodStatus{Phase: corev1.PodRunning}); err != nil {
		return outcome{}, nil, err
	}
	f := p.fateOf(j)
	if f.hold != nil {
		<-f.hold
	}
	killed := outcome{code: 137}
	if f.killed {
		return killed, object, nil
	}
	done := make(chan outcome, 1)
	work, stop := context.WithCancel(ctx)
	defer stop()
	go func() { done <- p.work(work, j) }()
	select {
	case <-f.cut:
		stop()
		<-done
		return killed, object, nil
	case o := <-done:
		select {
		case <-f.cut:
			return killed, object, nil
		default:
		}
		o.unheard = f.unheard
		return o, object, nil
	}
}

// work is what the program of the pod does, with its arguments and its mounts.
func (p *place) work(ctx context.Context, j *batchv1.Job) outcome {
	result, err := p.perform(ctx, j)
	o := outcome{}
	if err != nil {
		result, o.code = agent.Failed(err), 1
	}
	dir, err := os.MkdirTemp(p.content, "result-")
	if err != nil {
		return outcome{code: 1, message: err.Error()}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log := filepath.Join(dir, "termination-log")
	if err := result.Write(log); err != nil {
		return outcome{code: 1, message: err.Error()}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return outcome{code: 1, message: err.Error()}
	}
	o.message = string(text)
	return o
}

func (p *place) perform(ctx context.Context, j *batchv1.Job) (result job.Result, err error) {
	args := map[string]string{}
	container := j.Spec.Template.Spec.Containers[0]
	for _, arg := range container.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		args[name] = value
	}
	where, err := location.Parse(args["destination"])
	if err != nil {
		return job.Result{}, err
	}
	opened, err := store.Open(ctx, where, store.Options{PVCRoot: p.claim})
	if err != nil {
		return job.Result{}, err
	}
	//nolint:contextcheck // what was opened is closed, whether or not the pod was told to end
	defer func() { err = errors.Join(err, opened.Close()) }()
	a := &agent.Agent{Store: opened, Key: args["key"], UID: args["uid"], Now: time.Now, Nonce: strings.ToLower(rand.Text()[:8])}
	if a.Attempt, err = strconv.Atoi(args["attempt"]); err != nil {
		return job.Result{}, err
	}
	dir, err := os.MkdirTemp(p.content, "pod-")
	if err != nil {
		return job.Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if a.Dirs, err = p.mount(ctx, j, dir); err != nil {
		return job.Result{}, err
	}
	if container.Args[0] == string(job.Delete) {
		return a.Delete(ctx)
	}
	return a.Create(ctx)
}

// mount makes the folders that the pod's volumes are.
func (p *place) mount(ctx context.Context, j *batchv1.Job, dir string) (agent.Dirs, error) {
	dirs := agent.Dirs{Snapshot: dir + job.SnapshotDir, Content: dir + job.ContentDir, Secrets: dir + job.SecretsDir, Scratch: dir + job.ScratchDir}
	for _, folder := range []string{dirs.Snapshot, dirs.Content, dirs.Secrets, dirs.Scratch} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return dirs, err
		}
	}
	for _, v := range j.Spec.Template.Spec.Volumes {
		index, isContent := strings.CutPrefix(v.Name, "content-")
		switch {
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				if err := project(ctx, j.Namespace, source.ConfigMap, dirs.Snapshot); err != nil {
					return dirs, err
				}
			}
		case isContent:
			if err := os.Symlink(filepath.Join(p.content, v.PersistentVolumeClaim.ClaimName), filepath.Join(dirs.Content, index)); err != nil {
				return dirs, err
			}
		}
	}
	return dirs, nil
}

func project(ctx context.Context, namespace string, source *corev1.ConfigMapProjection, dir string) error {
	cm := &corev1.ConfigMap{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.Name}, cm); err != nil {
		return err
	}
	for _, item := range source.Items {
		if err := os.WriteFile(filepath.Join(dir, item.Path), cm.BinaryData[item.Key], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tell writes how the container ended, and then what became of the job.
func (p *place) tell(ctx context.Context, j *batchv1.Job, object *corev1.Pod, o outcome) error {
	phase, reason := corev1.PodSucceeded, "Completed"
	if o.code != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	if o.unheard {
		if err := kube.Delete(ctx, object, client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	} else if err := status(ctx, object, corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  job.Container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: o.code, Reason: reason, Message: o.message}},
	}}}); err != nil {
		return err
	}
	now := metav1.Now()
	s := batchv1.JobStatus{StartTime: &now}
	first, last := batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
	if o.code == 0 {
		s.Succeeded, s.CompletionTime = 1, &now
	} else {
		s.Failed = 1
		first, last = batchv1.JobFailureTarget, batchv1.JobFailed
	}
	for _, t := range []batchv1.JobConditionType{first, last} {
		s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return status(ctx, j, s)
}

// status writes the status of an object.
func status(ctx context.Context, object client.Object, value any) error {
	text, err := json.Marshal(map[string]any{"status": value})
	if err != nil {
		return err
	}
	return kube.Status().Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, text))
}
