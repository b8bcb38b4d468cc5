package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
)

// Ask is what a pod is to be asked, by its annotations.
type Ask struct {
	Pod string
	UID types.UID
	// Annotations are all those that the operator keeps on the pod.
	Annotations map[string]string
}

// rollout is what a decision about the configuration is made from.
func (in *input) rollout() rollout.Input {
	out := rollout.Input{
		Requested: in.requested.Revision,
		Stable:    in.stableRevision(),
		Overdue:   in.state.Overdue,
		Proven:    in.course.back(),
		HoldOld:   in.holdsOld(),
		Held:      in.course.held(),
		Refused:   in.refused(),
	}
	if !out.HoldOld {
		out.Canary = in.canary()
	}
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		out.Pods = append(out.Pods, rollout.Pod{
			Name:    pod.Name,
			Newest:  observe.TemplateOf(pod) == in.course.run.hash,
			Ready:   observe.Ready(pod),
			Running: observe.Running(pod),
			Asked:   observe.Asked(pod),
			Grant:   in.grant(pod),
			Status:  in.state.Instances[pod.Name],
		})
	}
	return out
}

// Tell is a pod that is to be told a word.
type Tell struct {
	Pod, PodIP, Word string
}

func (in *input) tells() []Tell {
	var tells []Tell
	for i := range in.state.Pods {
		if pod := &in.state.Pods[i]; in.decision.Tell[pod.Name] {
			tells = append(tells, Tell{pod.Name, pod.Status.PodIP, in.word(pod)})
		}
	}
	return tells
}

func (in *input) word(pod *corev1.Pod) string {
	return in.options.Words.For(string(pod.UID), in.requested.Revision)
}

func (in *input) grant(pod *corev1.Pod) string {
	if in.options.Words == nil {
		return ""
	}
	return instanceapi.Grant(in.word(pod))
}

// nudge comes before what a nudge adds to the value of the annotation.
const nudge = "/"

// syncMark is the annotation's value for a pod. What an earlier nudge added to it stays.
func (in *input) syncMark(pod *corev1.Pod, sync string) string {
	if in.decision.Nudge[pod.Name] {
		// Another value each time: our own write gives the pod its next version.
		return sync + nudge + pod.ResourceVersion
	}
	current := pod.Annotations[naming.AnnotationSync]
	if base, _, _ := strings.Cut(current, nudge); base == sync {
		return current
	}
	return sync
}

// asks are the pods whose annotations are not as they should be.
func (in *input) asks() []Ask {
	sync := in.sync()
	var asks []Ask
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		if !observe.Running(pod) {
			continue
		}
		want, asked := in.decision.Ask[pod.Name]
		if !asked {
			want = observe.Asked(pod)
		}
		mark := in.syncMark(pod, sync)
		if !asked && mark == pod.Annotations[naming.AnnotationSync] {
			continue
		}
		asks = append(asks, Ask{Pod: pod.Name, UID: pod.UID, Annotations: present(map[string]string{
			naming.AnnotationConfigTest:  want.Test,
			naming.AnnotationConfig:      want.Load,
			naming.AnnotationConfigGrant: want.Grant,
			naming.AnnotationSync:        mark,
		})})
	}
	return asks
}

// sync changes whenever files that are mounted into the pods have changed, or the user
// says so: any change of a pod's annotations makes the kubelet bring its volumes up to
// date at once, instead of after a minute or two.
func (in *input) sync() string {
	versions := slices.Sorted(slices.Values(in.state.ContentVersions))
	if asked := in.nginx.Annotations[naming.AnnotationSync]; asked != "" {
		versions = append(versions, asked)
	}
	if len(versions) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(versions, "\n")))
	return hex.EncodeToString(sum[:8])
}

func present(all map[string]string) map[string]string {
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}
