package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// configInput returns what the decision about the configuration is made from.
func (p *progress) configInput() rollout.Input {
	out := rollout.Input{
		Requested: p.selection.Run.Config.Revision,
		Stable:    p.stableRevision(),
		Proven:    p.selection.Mode.ReturnsToEarlier(),
		HoldOld:   p.holdsOldPods(),
		Held:      p.selection.Mode == Held,
		Paused:    p.selection.Paused,
		Refused:   p.refusalProblems(),
		Following: p.following(),
		Now:       p.Now,
	}
	if !out.HoldOld {
		out.Canary = p.Canary
	}
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		out.Pods = append(out.Pods, p.configPod(pod))
	}
	return out
}

// unreachablePatience is how long a pod may neither answer nor take orders before the others go on without it. Only
// failures count: it may answer what nobody has tried yet.
const unreachablePatience = 30 * time.Second

// configPod returns what the decision about the configuration knows of a pod.
func (p *progress) configPod(pod *corev1.Pod) rollout.Pod {
	failures := p.State.Unreachable[pod.Name]
	return rollout.Pod{
		Name:        pod.Name,
		UID:         string(pod.UID),
		StartedAt:   observe.StartedAt(pod),
		Newest:      observe.TemplateOf(pod) == p.selection.Run.Hash,
		Ready:       observe.Ready(pod),
		Running:     observe.Running(pod),
		Status:      p.State.Instances[pod.Name],
		Unreachable: failures.Last.Sub(failures.First) >= unreachablePatience,
	}
}

// Order is what a pod is to be requested by a signed order.
type Order struct {
	Pod, PodIP string
	// Receiver is whom the order is for: the application and the pod as the API server knows them. A pod must not get an
	// order that another one accepts.
	Receiver  instanceapi.Orders
	Requested instanceapi.Requested
	Hints     instanceapi.Hints
	// Contents are the files that the instance may not have.
	Contents instanceapi.Contents
	// LastFailure is when the pod did not carry out its last order; zero: it did, or had none.
	LastFailure time.Time
}

// orders returns the orders to send. Pods of releases before 0.5 take none.
func (p *progress) orders() []Order {
	var orders []Order
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		requested, ok := p.Rollout.Orders[pod.Name]
		status := p.State.Instances[pod.Name]
		if !ok || status == nil || status.Orders == nil {
			continue
		}
		receiver := *status.Orders
		receiver.Application, receiver.PodUID = p.application(), string(pod.UID)
		orders = append(orders, Order{
			Pod: pod.Name, PodIP: pod.Status.PodIP, Receiver: receiver,
			Requested: requested, Hints: p.Rollout.Hints[pod.Name], Contents: p.contents(pod.Name, requested),
			LastFailure: p.State.Unreachable[pod.Name].Last,
		})
	}
	return orders
}

// contents returns the files of what is requested, except for those that the instance of a pod certainly has.
func (p *progress) contents(pod string, requested instanceapi.Requested) instanceapi.Contents {
	var contents instanceapi.Contents
	lacking := p.State.Unreachable[pod].Order == observe.OrderFailure(instanceapi.MissingFiles)
	for _, config := range []nginxconf.Config{p.selection.Run.Config.Config, p.Stable} {
		kept := !lacking && keeps(p.State.Instances[pod], config.Revision)
		if kept || config.Revision != requested.Test && config.Revision != requested.Load {
			continue
		}
		if contents == nil {
			contents = instanceapi.Contents{}
		}
		contents[config.Revision] = config.Files
	}
	return contents
}

// keeps reports whether an instance has the files of a revision and keeps them. It can drop others, for example when the
// kubelet delivers another stable configuration, of which nothing reports: its status may be a minute old.
func keeps(status *instanceapi.Status, revision string) bool {
	return slices.Contains(status.Available, revision) &&
		slices.Contains([]string{status.Serving, status.Requested.Test, status.Requested.Load}, revision)
}

// PodAnnotations are the annotations to write to a pod.
type PodAnnotations struct {
	Pod string
	UID types.UID
	// Annotations are all those that the operator keeps on the pod.
	Annotations map[string]string
}

// podAnnotationUpdates returns the pods whose annotations have to change: files that are mounted into them have changed,
// or they are of a release before 0.5, which takes requests by annotations.
func (p *progress) podAnnotationUpdates() []PodAnnotations {
	sync := p.sync()
	var updates []PodAnnotations
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if !observe.Running(pod) {
			continue
		}
		requested := observe.RequestedByAnnotations(pod)
		want := requested
		if status := p.State.Instances[pod.Name]; status != nil && status.Orders == nil {
			if next, ok := p.Rollout.Orders[pod.Name]; ok {
				want = next
			}
		}
		if want == requested && sync == syncOf(pod) {
			continue
		}
		updates = append(updates, PodAnnotations{Pod: pod.Name, UID: pod.UID, Annotations: present(map[string]string{
			naming.AnnotationConfigTest: want.Test,
			naming.AnnotationConfig:     want.Load,
			naming.AnnotationSync:       sync,
		})})
	}
	return updates
}

// syncOf returns the value of sync for which a pod's annotation was written. Releases before 0.5 added a slash and a
// version to it.
func syncOf(pod *corev1.Pod) string {
	value, _, _ := strings.Cut(pod.Annotations[naming.AnnotationSync], "/")
	return value
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
