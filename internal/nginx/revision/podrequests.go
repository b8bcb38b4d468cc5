package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// PodAnnotations are the annotations to write to a pod.
type PodAnnotations struct {
	Pod string
	UID types.UID
	// Annotations are all those that the operator keeps on the pod.
	Annotations map[string]string
}

// configInput returns what the decision about the configuration is made from.
func (p *progress) configInput() rollout.Input {
	out := rollout.Input{
		Requested: p.selection.Run.Config.Revision,
		Stable:    p.stableRevision(),
		Overdue:   p.Overdue,
		Proven:    p.selection.Mode.ReturnsToEarlier(),
		HoldOld:   p.holdsOldPods(),
		Held:      p.selection.Mode == Held,
		Refused:   p.refusalProblems(),
	}
	if !out.HoldOld {
		out.Canary = p.Canary
	}
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		out.Pods = append(out.Pods, rollout.Pod{
			Name:      pod.Name,
			Newest:    observe.TemplateOf(pod) == p.selection.Run.Hash,
			Ready:     observe.Ready(pod),
			Running:   observe.Running(pod),
			Requested: observe.RequestedByAnnotations(pod),
			TokenHash: p.tokenHash(pod),
			Status:    p.State.Instances[pod.Name],
		})
	}
	return out
}

// LoadRequest is a pod to send a load token.
type LoadRequest struct {
	Pod, PodIP, Token string
}

func (p *progress) loadRequests() []LoadRequest {
	var requests []LoadRequest
	for i := range p.State.Pods {
		if pod := &p.State.Pods[i]; p.Rollout.LoadRequests[pod.Name] {
			requests = append(requests, LoadRequest{pod.Name, pod.Status.PodIP, p.loadToken(pod)})
		}
	}
	return requests
}

func (p *progress) loadToken(pod *corev1.Pod) string {
	return p.Options.LoadTokens.Token(string(pod.UID), p.selection.Run.Config.Revision)
}

func (p *progress) tokenHash(pod *corev1.Pod) string {
	if p.Options.LoadTokens == nil {
		return ""
	}
	return instanceapi.TokenHash(p.loadToken(pod))
}

// nudge separates the value of the annotation from what makes it unique.
const nudge = "/"

// syncMark returns the annotation's value for a pod. It keeps what an earlier sync added.
func (p *progress) syncMark(pod *corev1.Pod, sync string) string {
	if p.Rollout.SyncPods[pod.Name] {
		// The value differs each time, because the operator's own write gives the pod its next version.
		return sync + nudge + pod.ResourceVersion
	}
	current := pod.Annotations[naming.AnnotationSync]
	if base, _, _ := strings.Cut(current, nudge); base == sync {
		return current
	}
	return sync
}

// podAnnotationUpdates returns the pods whose annotations have to change.
func (p *progress) podAnnotationUpdates() []PodAnnotations {
	sync := p.sync()
	var updates []PodAnnotations
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if !observe.Running(pod) {
			continue
		}
		want, requested := p.Rollout.Requested[pod.Name]
		if !requested {
			want = observe.RequestedByAnnotations(pod)
		}
		mark := p.syncMark(pod, sync)
		if !requested && mark == pod.Annotations[naming.AnnotationSync] {
			continue
		}
		updates = append(updates, PodAnnotations{Pod: pod.Name, UID: pod.UID, Annotations: present(map[string]string{
			naming.AnnotationConfigTest:      want.Test,
			naming.AnnotationConfig:          want.Load,
			naming.AnnotationConfigTokenHash: want.TokenHash,
			naming.AnnotationSync:            mark,
		})})
	}
	return updates
}

// sync returns a value that changes whenever files that are mounted into the pods have changed, or the user requests
// it: any change of a pod's annotations makes the kubelet bring its volumes up to date at once, instead of after a
// minute or two.
func (p *progress) sync() string {
	versions := slices.Sorted(slices.Values(p.State.ContentVersions))
	if requested := p.Nginx.Annotations[naming.AnnotationSync]; requested != "" {
		versions = append(versions, requested)
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
