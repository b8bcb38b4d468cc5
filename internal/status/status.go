// Package status judges what was observed: it computes the status of an
// NginxOperator and the events of the transition to it. It is pure; the time is
// given. Nothing is decided from an earlier status: that only keeps transition
// times and tells which events are news.
package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

// Input is what a status is computed from.
type Input struct {
	Nginx *v1alpha2.NginxOperator
	// State as it is after the pass's own writes.
	State observe.State
	// Plan is nil when nothing could be planned.
	Plan *desired.Plan
	// Blocked tells what the user has to solve.
	Blocked desired.Blocked
	// Failed are the objects that could not be written.
	Failed []observe.Key
	// Leaving tells of an object that has to be gone before it can be made; empty: there is none. It is one of Failed.
	Leaving string
	// NotKept are fields that the cluster does not keep as they are written: a kind and a path.
	NotKept []string
	// Pending are the objects that suspend keeps from being written.
	Pending []string
	// Now is the time of the pass.
	Now time.Time
}

// Result is the new status and what is new about it.
type Result struct {
	Status v1alpha2.NginxOperatorStatus
	// Changed tells whether it differs from the status that the resource has.
	Changed bool
	// Events tell the transition, to be published after the status was written.
	Events []Event
}

// judgement is the verdict about one condition.
type judgement struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// conditionTypes are all conditions in the order in which Ready looks at them.
var conditionTypes = []struct {
	name  string
	judge func(*view) judgement
}{
	{v1alpha2.ConditionAccepted, accepted},
	{v1alpha2.ConditionConfigValid, configValid},
	{v1alpha2.ConditionUpToDate, upToDate},
	{v1alpha2.ConditionAvailable, available},
	{v1alpha2.ConditionCertificatesValid, certificatesValid},
}

// Compute returns the status that in amounts to.
func Compute(in Input) Result {
	v := newView(in)
	old := in.Nginx.Status
	next := v.counts()
	next.Conditions = append([]metav1.Condition(nil), old.Conditions...)
	judgements := map[string]judgement{}
	for _, c := range conditionTypes {
		if c.name == v1alpha2.ConditionCertificatesValid && len(in.Nginx.Spec.TLS) == 0 {
			meta.RemoveStatusCondition(&next.Conditions, c.name)
			continue
		}
		judgements[c.name] = c.judge(v)
		v.set(&next, c.name, judgements[c.name])
	}
	v.set(&next, v1alpha2.ConditionReady, ready(v, judgements))
	return Result{
		Status:  next,
		Changed: !apiequality.Semantic.DeepEqual(old, next),
		Events:  events(v, &old, &next),
	}
}

func (v *view) set(status *v1alpha2.NginxOperatorStatus, name string, j judgement) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               name,
		Status:             j.status,
		Reason:             j.reason,
		Message:            trouble.Clip(j.message),
		ObservedGeneration: v.in.Nginx.Generation,
		LastTransitionTime: metav1.NewTime(v.in.Now.Truncate(time.Second)),
	})
}

// view is the input with what several conditions need of it.
type view struct {
	in Input
	// replicas is how many pods are asked for.
	replicas int32
	// revision is the configuration asked for, empty when none could be planned.
	revision string
	// rollout is how far the configuration has come.
	rollout rollout.Decision
	// trouble is the worst thing that holds a new pod back, nil when nothing does.
	trouble *trouble.Trouble
}

func newView(in Input) *view {
	v := &view{in: in, replicas: ptr.Deref(in.Nginx.Spec.Replicas, 1)}
	if d := in.State.Deployment(); d != nil && (in.State.Autoscaler != "" || len(in.Pending) > 0) {
		v.replicas = ptr.Deref(d.Spec.Replicas, 1)
	}
	if in.Plan != nil {
		v.revision = in.Plan.Config.Revision
		v.rollout = in.Plan.Rollout
	}
	v.trouble = findTrouble(v)
	return v
}

// Bounds of the schema, in bytes. Who else can write into a pod or answers for it could otherwise
// keep the status from being written at all.
const (
	mostImage    = 512
	mostVersion  = 64
	mostRevision = 64
	mostSerial   = 128
)

// counts is the part of a status that is not conditions.
func (v *view) counts() v1alpha2.NginxOperatorStatus {
	// Ready replicas are counted from the same pods as config.loadedReplicas: the
	// Deployment's own figure comes from another cache, which may lag behind or be ahead.
	status := v1alpha2.NginxOperatorStatus{
		ObservedGeneration: v.in.Nginx.Generation,
		Selector:           naming.Selector(v.in.Nginx.Name).String(),
		Config:             v.configStatus(),
		NginxVersion:       trouble.Shorten(v.nginxVersion(), mostVersion),
		Certificates:       v.certificates(),
		ReadyReplicas:      v.readyReplicas(),
		Addresses:          v.addresses(),
		WaitingRollout:     v.waitingRollout(),
	}
	if good := v.in.State.History.LastGood(""); good != nil {
		status.Revision = good.Number
	}
	if d := v.in.State.Deployment(); d != nil {
		status.Replicas = d.Status.Replicas
		status.UpdatedReplicas = d.Status.UpdatedReplicas
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == naming.NginxContainer {
				status.Image = trouble.Shorten(c.Image, mostImage)
			}
		}
	}
	if image := v.servingImage(); image != "" {
		status.Image = trouble.Shorten(image, mostImage)
	}
	for i := range v.in.State.Pods {
		status.Restarts += restarts(&v.in.State.Pods[i])
	}
	return status
}

// stableRevision is the configuration that pods start with; empty: there is none.
func (v *view) stableRevision() string {
	stable := v.in.State.Config(naming.ConfigMap(v.in.Nginx.Name))
	if stable == nil {
		return ""
	}
	return trouble.Shorten(stable.Annotations[naming.AnnotationConfig], mostRevision)
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

// servingImage is the image of the ready pods: that of the newest while a rollout
// mixes them, and still the old one while no new pod came up.
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

// nginxVersion is that of the newest pod that tells.
func (v *view) nginxVersion() string {
	version := ""
	for i := range v.in.State.Pods {
		if instance := v.in.State.Instances[v.in.State.Pods[i].Name]; instance != nil && instance.NginxVersion != "" {
			version = instance.NginxVersion
		}
	}
	return version
}
