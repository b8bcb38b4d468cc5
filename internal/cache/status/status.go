// Package status sums up the states of a cache's two tiers. It is pure; the time is an input.
package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Tier is the state of a tier.
type Tier struct {
	// Name of the tier, for messages.
	Name   string
	Status v1alpha2.NginxOperatorStatus
	Pods   []Pod
}

// Pod is a pod of a tier.
type Pod struct {
	Name, Node, Config string
	Ready              bool
	// Cache is the state of the pod's volume; nil if it is not known.
	Cache *instanceapi.Cache
}

// Input is what a status is computed from.
type Input struct {
	Cache        *v1alpha1.NginxCache
	Edge, Shards Tier
	// Invalid is why the spec cannot be carried out; nil if it can.
	Invalid error
	// Volumes are those of the shards.
	Volumes tier.Volumes
	// Ring is the number of shards that the edges send requests to; 0 if there are no edges.
	Ring int
	// HandOver says whether shards hand objects over.
	HandOver handover.Plan
	// Origins are those that are NginxOperators.
	Origins tier.Origins
	Now     time.Time
}

// conditions are those of the tiers, in the order in which Ready looks at them.
var conditions = []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionConfigValid, v1alpha1.ConditionUpToDate, v1alpha1.ConditionAvailable, v1alpha1.ConditionCertificatesValid}

// Compute returns the status for an input, and whether it differs from that of the resource.
func Compute(in Input) (next v1alpha1.NginxCacheStatus, changed bool) {
	next = v1alpha1.NginxCacheStatus{
		ObservedGeneration: in.Cache.Generation,
		Conditions:         slices.Clone(in.Cache.Status.Conditions),
		Edge:               in.tierStatus(in.Edge),
		Shards:             in.tierStatus(in.Shards),
		Addresses:          in.Edge.Status.Addresses,
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha2.ReasonReady, Message: "The cache is as declared, and serves"}
	worst := rank(metav1.ConditionTrue)
	for _, name := range conditions {
		if name == v1alpha1.ConditionCertificatesValid && len(in.Cache.Spec.TLS) == 0 {
			meta.RemoveStatusCondition(&next.Conditions, name)
			continue
		}
		c := in.sum(name)
		in.set(&next, c)
		// The first that is False decides, or else the first that is Unknown: a known fault says more than its unknown
		// consequences.
		if rank(c.Status) > worst {
			worst, ready.Status, ready.Reason, ready.Message = rank(c.Status), metav1.ConditionFalse, c.Reason, c.Message
		}
	}
	in.set(&next, ready)
	in.set(&next, in.degraded())
	return next, !apiequality.Semantic.DeepEqual(in.Cache.Status, next)
}

// sum returns the condition of a type of the whole cache: that of the tier which is worse.
func (in *Input) sum(name string) metav1.Condition {
	if name == v1alpha1.ConditionAccepted && in.Invalid != nil {
		return metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidSpec,
			Message: in.Invalid.Error() + ": the pods keep the last configuration"}
	}
	if name == v1alpha1.ConditionAccepted && in.Volumes.Refused != "" {
		return metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonVolumesNotChanged, Message: in.Volumes.Refused}
	}
	if name == v1alpha1.ConditionAccepted && in.Origins.Missing != "" {
		return metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonOriginNotFound, Message: in.Origins.Missing}
	}
	worst := in.worst(name)
	if name != v1alpha1.ConditionUpToDate || worst.Status != metav1.ConditionTrue {
		return worst
	}
	if in.Volumes.Growing != "" {
		worst.Status, worst.Reason, worst.Message = metav1.ConditionFalse, v1alpha1.ReasonVolumesGrowing, "shards: the storage grows: "+in.Volumes.Growing
	} else if text := in.HandOver.Message(); text != "" {
		worst.Reason, worst.Message = v1alpha1.ReasonHandingOver, "shards: "+text
	}
	return worst
}

// worst returns the condition of the tier which is worse, with what both say if they are the same.
func (in *Input) worst(name string) metav1.Condition {
	worst := metav1.Condition{Type: name, Status: metav1.ConditionTrue}
	var texts []string
	// The edges may wait for the shards, which know the cause then.
	for _, tier := range []Tier{in.Shards, in.Edge} {
		found := meta.FindStatusCondition(tier.Status.Conditions, name)
		switch {
		case found == nil && (name == v1alpha1.ConditionAccepted || name == v1alpha1.ConditionCertificatesValid && tier.Name == v1alpha1.TierShards):
			// Nothing is wrong with a tier that waits, and only edges have certificates.
			continue
		case found == nil:
			found = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha2.ReasonRolloutInProgress, Message: "waits until the shards are available"}
		}
		switch severity := cmp.Compare(rank(found.Status), rank(worst.Status)); {
		case severity > 0:
			worst.Status, worst.Reason, texts = found.Status, found.Reason, []string{tier.Name + ": " + found.Message}
		case severity == 0:
			worst.Reason = cmp.Or(worst.Reason, found.Reason)
			texts = append(texts, tier.Name+": "+found.Message)
		}
	}
	worst.Message = strings.Join(texts, "; ")
	return worst
}

func rank(s metav1.ConditionStatus) int {
	switch s {
	case metav1.ConditionTrue:
		return 0
	case metav1.ConditionFalse:
		return 2
	default:
		return 1
	}
}

// maxMessage is the limit of the API for the message of a condition, in bytes.
const maxMessage = 32768

func (in *Input) set(next *v1alpha1.NginxCacheStatus, c metav1.Condition) {
	c.Message = messages.Shorten(c.Message, maxMessage)
	c.ObservedGeneration = in.Cache.Generation
	c.LastTransitionTime = metav1.NewTime(in.Now.Truncate(time.Second))
	meta.SetStatusCondition(&next.Conditions, c)
}

func (in *Input) tierStatus(of Tier) *v1alpha1.TierStatus {
	status := tier.Status(&of.Status)
	for _, p := range slices.SortedFunc(slices.Values(of.Pods), func(a, b Pod) int { return naming.ComparePods(a.Name, b.Name) }) {
		status.Pods = append(status.Pods, v1alpha1.PodStatus{Name: p.Name, Ready: p.Ready, Node: p.Node, ConfigRevision: p.Config, Storage: in.Volumes.Size(p.Name)})
	}
	return status
}

// NewPods returns the pods of a tier as its status lists them. instances are the states of their instance managers.
func NewPods(pods []corev1.Pod, ready func(*corev1.Pod) bool, instances map[string]*instanceapi.Status) []Pod {
	var all []Pod
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		found := Pod{Name: pod.Name, Node: pod.Spec.NodeName, Ready: ready(pod)}
		if instance := instances[pod.Name]; instance != nil {
			found.Config, found.Cache = instance.Serving, instance.Cache
		}
		all = append(all, found)
	}
	return all
}
