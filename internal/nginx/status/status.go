// Package status computes the status of an NginxOperator and the events of the transition to it. It is pure; the time
// is an input. Nothing is decided from an earlier status, which only keeps transition times and shows which events
// are new.
package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/conditioncheck"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Input is what a status is computed from.
type Input struct {
	Nginx *v1alpha2.NginxOperator
	// Owner declares the application.
	Owner application.Owner
	// Workload is the kind of the object that runs the pods.
	Workload string
	// State as it is after the pass's own writes.
	State observe.State
	// Selection is which revision runs, and how far its rollout is.
	Selection revision.Selection
	// Verdict is the result of the canary analysis of this pass; nil if there was none.
	Verdict *canary.Verdict
	// KeepsPorts reports whether the Service keeps the ports of pods that are being replaced.
	KeepsPorts bool
	// Blocked is what the user has to fix.
	Blocked revision.Blocked
	// Failed are the objects that could not be written, Failure is the error of the first one; nil if it is known
	// otherwise.
	Failed  []owned.Key
	Failure error
	// AwaitingDeletion describes an object that has to be gone before it can be created again; empty if there is
	// none. It is one of Failed.
	AwaitingDeletion string
	// DroppedFields are fields that the cluster does not keep as they were written: a kind and a path.
	DroppedFields []string
	// Pending are the kinds of objects that suspend keeps from being written.
	Pending []string
	// Now is the time of the pass.
	Now time.Time
}

// Result is the new status and what is new about it.
type Result struct {
	Status v1alpha2.NginxOperatorStatus
	// Changed reports whether it differs from the status of the resource.
	Changed bool
	// Events describe the transition. Publish them after the status was written.
	Events []Event
}

// conditions are those that Ready depends on, in the order in which it looks at them.
var conditions = []struct {
	name   string
	checks []check
}{
	{v1alpha2.ConditionAccepted, acceptedChecks},
	{v1alpha2.ConditionConfigValid, configValidChecks},
	{v1alpha2.ConditionUpToDate, upToDateChecks},
	{v1alpha2.ConditionAvailable, availableChecks},
	{v1alpha2.ConditionCertificatesValid, certificatesValidChecks},
}

// Compute returns the status for an input.
func Compute(in Input) Result {
	v := newView(in)
	old := in.Nginx.Status
	next := v.statusFields()
	next.Conditions = append([]metav1.Condition(nil), old.Conditions...)
	verdicts := map[string]verdict{}
	for _, c := range conditions {
		if c.name == v1alpha2.ConditionCertificatesValid && len(in.Nginx.Spec.TLS) == 0 {
			meta.RemoveStatusCondition(&next.Conditions, c.name)
			continue
		}
		verdicts[c.name] = conditioncheck.Evaluate(v, c.checks)
		v.set(&next, c.name, verdicts[c.name])
	}
	if isExposed(&in.Nginx.Spec) {
		v.set(&next, v1alpha2.ConditionExposed, exposed(v))
	} else {
		meta.RemoveStatusCondition(&next.Conditions, v1alpha2.ConditionExposed)
	}
	v.set(&next, v1alpha2.ConditionReady, ready(v, verdicts))
	return Result{
		Status:  next,
		Changed: !apiequality.Semantic.DeepEqual(old, next),
		Events:  events(v, &old, &next),
	}
}

func (v *view) set(status *v1alpha2.NginxOperatorStatus, name string, found verdict) {
	message := poddiagnosis.Clip(found.Message)
	if before := meta.FindStatusCondition(status.Conditions, name); before != nil {
		message = poddiagnosis.KeepPullError(before.Message, message)
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               name,
		Status:             found.Status,
		Reason:             found.Reason,
		Message:            message,
		ObservedGeneration: v.in.Nginx.Generation,
		LastTransitionTime: metav1.NewTime(v.in.Now.Truncate(time.Second)),
	})
}

// view is the input with what several checks need of it.
type view struct {
	in Input
	// replicas is the number of requested pods.
	replicas int32
	// revision is the requested configuration; empty if there is none.
	revision string
	// rollout is the progress of the configuration.
	rollout rollout.Decision
	// diagnosis is the worst thing that holds a new pod back; nil if nothing does.
	diagnosis *poddiagnosis.Diagnosis
}

func newView(in Input) *view {
	v := &view{
		in: in, replicas: ptr.Deref(in.Nginx.Spec.Replicas, 1),
		revision: in.Selection.Run.Config.Revision, rollout: in.Selection.Rollout,
	}
	if w := in.State.Workload(); w != nil && (in.State.Autoscaler != "" || len(in.Pending) > 0) {
		v.replicas = w.Wanted
	}
	v.diagnosis = findDiagnosis(v)
	return v
}

// Limits of the schema, in bytes. A program that can write to a pod or answer for it could otherwise keep the status
// from being written at all.
const (
	mostImage    = 512
	mostVersion  = 64
	mostRevision = 64
	mostSerial   = 128
)

// statusFields returns the part of a status that is not conditions.
func (v *view) statusFields() v1alpha2.NginxOperatorStatus {
	// Ready replicas are counted from the same pods as config.loadedReplicas: the Deployment's own figure comes from
	// another cache, which may be behind or ahead.
	status := v1alpha2.NginxOperatorStatus{
		ObservedGeneration: v.in.Nginx.Generation,
		Selector:           naming.Selector(v.in.Nginx.Name).String(),
		Config:             v.configStatus(),
		NginxVersion:       messages.Shorten(v.nginxVersion(), mostVersion),
		Certificates:       v.certificates(),
		ReadyReplicas:      v.readyReplicas(),
		Addresses:          v.addresses(),
		WaitingRollout:     v.waitingRollout(),
	}
	if good := v.in.State.History.LastGood(""); good != nil {
		status.Revision = good.Number
	}
	if w := v.in.State.Workload(); w != nil {
		status.Replicas = w.Replicas
		status.UpdatedReplicas = w.Updated
		for _, c := range w.Template.Spec.Containers {
			if c.Name == naming.NginxContainer {
				status.Image = messages.Shorten(c.Image, mostImage)
			}
		}
	}
	if image := v.servingImage(); image != "" {
		status.Image = messages.Shorten(image, mostImage)
	}
	for i := range v.in.State.Pods {
		status.Restarts += restarts(&v.in.State.Pods[i])
	}
	return status
}

// stableRevision returns the configuration that pods boot from; empty if there is none.
func (v *view) stableRevision() string {
	stable := v.in.State.Config(naming.ConfigMap(v.in.Nginx.Name))
	if stable == nil {
		return ""
	}
	return messages.Shorten(stable.Annotations[naming.AnnotationConfig], mostRevision)
}

func (v *view) configStatus() *v1alpha2.ConfigStatus {
	if v.revision == "" {
		return nil
	}
	status := &v1alpha2.ConfigStatus{
		Revision:       v.revision,
		TestedReplicas: int32(v.rollout.Accepted),
	}
	status.StableRevision = v.stableRevision()
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if instance := v.in.State.Instances[pod.Name]; observe.Ready(pod) && instance != nil && instance.Serving == v.revision {
			status.LoadedReplicas++
		}
	}
	return status
}

// servingImage returns the image of the ready pods: that of the newest one while a rollout mixes them, and still the
// old one while no new pod is ready.
func (v *view) servingImage() string {
	image := ""
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		for _, c := range pod.Spec.Containers {
			if c.Name == naming.NginxContainer && observe.Ready(pod) {
				image = c.Image
			}
		}
	}
	return image
}

// nginxVersion returns that of the newest pod that reports it.
func (v *view) nginxVersion() string {
	version := ""
	for i := range v.in.State.Pods {
		if instance := v.in.State.Instances[v.in.State.Pods[i].Name]; instance != nil && instance.NginxVersion != "" {
			version = instance.NginxVersion
		}
	}
	return version
}
