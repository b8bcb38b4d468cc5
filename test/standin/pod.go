package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/job"
)

// pod is the pod of a job.
type pod struct {
	kube  client.Client
	place *NodeStorage
	job   *batchv1.Job
	// ip is an address of this machine that only this pod uses.
	ip     string
	cancel context.CancelFunc
	// ended is closed when the container has ended.
	ended chan struct{}
}

// outcome is how a container ended. Without a message, it was killed.
type outcome struct {
	message string
	code    int32
	unheard bool
}

// newIP returns one of 16 million addresses on which no other process listens. Linux accepts all of
// 127.0.0.0/8.
func newIP() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// run runs the pod from its creation until its result is reported to the API server.
func (p *pod) run(ctx context.Context) error {
	p.place.begin(p.job)
	result, object, err := p.execute(ctx)
	close(p.ended)
	p.place.end(err != nil || result.code != 0)
	if err != nil {
		return err
	}
	// Kubernetes refuses another time of completion, which a report would have that is repeated because its answer was lost.
	now := metav1.Now()
	return persist(func() error { return p.report(context.WithoutCancel(ctx), object, result, now) })
}

// execute creates the pod and runs its container to the end.
func (p *pod) execute(ctx context.Context) (outcome, *corev1.Pod, error) {
	object, err := p.schedule(ctx)
	if err != nil {
		return outcome{}, nil, err
	}
	fate := p.place.fateOf(p.job)
	if fate.Hold != nil {
		<-fate.Hold
	}
	killed := outcome{code: 137}
	if fate.Killed {
		return killed, object, nil
	}
	o, err := p.container(ctx, object, fate.Cut)
	if err != nil {
		return outcome{}, nil, err
	}
	select {
	case <-fate.Cut:
		return killed, object, nil
	default:
	}
	o.unheard = fate.Unheard
	return o, object, nil
}

// container runs the program until it ends, and reports when it becomes ready.
func (p *pod) container(ctx context.Context, object *corev1.Pod, cut <-chan struct{}) (outcome, error) {
	done, probed := make(chan outcome, 1), make(chan error, 1)
	work, stop := context.WithCancel(ctx)
	defer stop()
	go func() { done <- p.work(work) }()
	go func() { probed <- p.probe(work, object) }()
	var o outcome
	select {
	case <-cut:
		stop()
		o = <-done
	case o = <-done:
		stop()
	}
	return o, client.IgnoreNotFound(<-probed)
}

// schedule creates the pod, with a node, as running.
func (p *pod) schedule(ctx context.Context) (*corev1.Pod, error) {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.job.Namespace, GenerateName: p.job.Name + "-", Labels: p.job.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: p.job.Name, UID: p.job.UID, Controller: new(true)}},
		},
		Spec: p.job.Spec.Template.Spec,
	}
	object.Labels[batchv1.JobNameLabel] = p.job.Name
	// A pod on a node is not deleted until the node confirms it.
	object.Spec.NodeName = "node"
	if err := p.kube.Create(ctx, object); err != nil {
		return nil, err
	}
	return object, p.status(ctx, object, corev1.PodStatus{Phase: corev1.PodRunning, PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}}})
}

// report writes how the container ended, and then the result of the job, which it completes at a time.
func (p *pod) report(ctx context.Context, object *corev1.Pod, o outcome, now metav1.Time) error {
	phase, reason := corev1.PodSucceeded, "Completed"
	if o.code != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	if o.unheard {
		if err := p.kube.Delete(ctx, object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
	} else if err := p.status(ctx, object, corev1.PodStatus{
		Phase:      phase,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name:  job.Container,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: o.code, Reason: reason, Message: o.message}},
		}},
	}); err != nil {
		return err
	}
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
	err := p.status(ctx, p.job, s)
	if apierrors.IsInvalid(err) {
		// Kubernetes 1.30 has only the last condition.
		s.Conditions = s.Conditions[1:]
		err = p.status(ctx, p.job, s)
	}
	return err
}

// status writes the status of an object.
func (p *pod) status(ctx context.Context, object client.Object, value any) error {
	text, err := json.Marshal(map[string]any{"status": value})
	if err != nil {
		return err
	}
	return p.kube.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, text))
}
