package observe

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Workload is the object that runs an application's pods, as its controller reports it: a Deployment or a StatefulSet.
type Workload struct {
	// Object is the live object, Kind its kind.
	Object owned.Object
	Kind   string
	// Wanted is the number of pods in its spec.
	Wanted int32
	// Template of its pods.
	Template *corev1.PodTemplateSpec
	// Ordered reports whether a new pod takes the place and the name of an old one, so that none can start before an
	// old one has stopped.
	Ordered bool
	// Paused reports whether someone has paused its rollout.
	Paused bool
	// ObservedGeneration is the generation that its controller has seen, the counts are those of its status.
	ObservedGeneration                  int64
	Replicas, Ready, Available, Updated int32
	// Completed reports whether every pod has been available since the last change of the template.
	Completed bool
	// GaveUp reports whether its controller has given up the rollout, GaveUpAt when.
	GaveUp   bool
	GaveUpAt time.Time
	// Refused is why its controller can create no pod; empty if it can.
	Refused string
}

// Workload returns the live workload, or nil.
func (s State) Workload() *Workload {
	for _, object := range s.Owned {
		switch o := object.(type) {
		case *appsv1.Deployment:
			return ofDeployment(o)
		case *appsv1.StatefulSet:
			return s.ofStatefulSet(o)
		}
	}
	return nil
}

func ofDeployment(d *appsv1.Deployment) *Workload {
	w := &Workload{
		Object: d, Kind: application.KindDeployment, Template: &d.Spec.Template,
		Wanted: ptr.Deref(d.Spec.Replicas, 1), Paused: d.Spec.Paused,
		ObservedGeneration: d.Status.ObservedGeneration,
		Replicas:           d.Status.Replicas, Ready: d.Status.ReadyReplicas,
		Available: d.Status.AvailableReplicas, Updated: d.Status.UpdatedReplicas,
	}
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			w.Refused = c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded":
			w.GaveUp, w.GaveUpAt = true, c.LastUpdateTime.Time
		case c.Type == appsv1.DeploymentProgressing:
			// Its controller keeps this reason from the end of a rollout to the start of the next.
			w.Completed = c.Reason == "NewReplicaSetAvailable"
		}
	}
	return w
}

// ofStatefulSet reads a StatefulSet. Its controller reports neither that a rollout was completed, nor that it makes no
// progress, nor why a pod cannot be created: the history tells the first, and rollout.Advance finds the others.
func (s State) ofStatefulSet(o *appsv1.StatefulSet) *Workload {
	good := s.History.LastGood("")
	return &Workload{
		Object: o, Kind: application.KindStatefulSet, Template: &o.Spec.Template, Ordered: true,
		Wanted:             ptr.Deref(o.Spec.Replicas, 1),
		ObservedGeneration: o.Status.ObservedGeneration,
		Replicas:           o.Status.Replicas, Ready: o.Status.ReadyReplicas,
		Available: o.Status.AvailableReplicas, Updated: o.Status.UpdatedReplicas,
		Completed: good != nil && good.Template == o.Spec.Template.Annotations[naming.AnnotationTemplate],
	}
}

// RolledOut reports whether every pod is of the workload's template. A rollout ends when all of them have become
// available. If one fails later, or if the number of replicas grows, that concerns Available, not the rollout.
func (s State) RolledOut(replicas int32) bool {
	w := s.Workload()
	if w == nil || !s.WorkloadStatusCurrent() {
		return false
	}
	return w.Updated == replicas && w.Replicas == replicas && (w.Available == replicas || w.Completed)
}

// WorkloadStatusCurrent reports whether the status of the workload describes its present spec. The generation also
// changes with each annotation that a client writes. As long as all pods that the status counts are of the workload's
// template, an older status still holds.
func (s State) WorkloadStatusCurrent() bool {
	w := s.Workload()
	if w == nil {
		return false
	}
	return w.ObservedGeneration >= w.Object.GetGeneration() || w.ObservedGeneration > 0 && s.allOf(s.LiveTemplate(), w.Replicas)
}

// allOf reports whether there are exactly count pods, all of a template.
func (s State) allOf(template string, count int32) bool {
	found := int32(0)
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if TemplateOf(pod) != template {
			return false
		}
		found++
	}
	return found == count
}

// TemplateOf returns the hash of the template that a pod was created from.
func TemplateOf(pod *corev1.Pod) string { return pod.Annotations[naming.AnnotationTemplate] }

// TemplateOfWorkload returns the template of the live workload, or nil.
func (s State) TemplateOfWorkload() *corev1.PodTemplateSpec {
	if w := s.Workload(); w != nil {
		return w.Template
	}
	return nil
}

// LiveTemplate returns the hash of the workload's template; empty if there is none.
func (s State) LiveTemplate() string {
	if t := s.TemplateOfWorkload(); t != nil {
		return t.Annotations[naming.AnnotationTemplate]
	}
	return ""
}
