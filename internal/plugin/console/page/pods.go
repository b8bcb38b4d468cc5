package page

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// Node is a node with the pods on it.
type Node struct {
	// Name is empty for pods that no node runs yet.
	Name string `json:"name"`
	Zone string `json:"zone,omitempty"`
	Pods []Pod  `json:"pods"`
}

// Pod is a pod of the application.
type Pod struct {
	Name string `json:"name"`
	// State is ready, starting, ending or failing.
	State    string    `json:"state"`
	Message  string    `json:"message,omitempty"`
	Template string    `json:"template"`
	Revision int64     `json:"revision,omitempty"`
	Newest   bool      `json:"newest"`
	Restarts int32     `json:"restarts,omitempty"`
	Created  time.Time `json:"created"`
	IP       string    `json:"ip,omitempty"`
}

// pods returns the pods by zone and node.
func pods(o *Objects, h history.History) []Node {
	byNode := map[string]*Node{}
	nodes := []Node{}
	for i := range o.Pods {
		pod := &o.Pods[i]
		name := pod.Spec.NodeName
		if byNode[name] == nil {
			byNode[name] = &Node{Name: name, Zone: ZoneOf(pod, o.Zones)}
		}
		byNode[name].Pods = append(byNode[name].Pods, podOf(pod, h))
	}
	for _, node := range byNode {
		slices.SortFunc(node.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
		nodes = append(nodes, *node)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Name, b.Name)) })
	return nodes
}

// ZoneOf returns the zone of a pod. Kubernetes copies it from the node to the pod since version 1.35.
func ZoneOf(pod *corev1.Pod, zones map[string]string) string {
	return cmp.Or(pod.Labels[corev1.LabelTopologyZone], zones[pod.Spec.NodeName])
}

func podOf(pod *corev1.Pod, h history.History) Pod {
	template := observe.TemplateOf(pod)
	p := Pod{
		Name: pod.Name, State: "starting", Template: template, Created: pod.CreationTimestamp.UTC(), IP: pod.Status.PodIP,
		Newest: len(h) > 0 && h[len(h)-1].Template == template,
	}
	for _, r := range h {
		if r.Template == template {
			p.Revision = max(p.Revision, r.Number)
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		p.Restarts += s.RestartCount
	}
	switch {
	case pod.DeletionTimestamp != nil:
		p.State = "ending"
	case observe.Ready(pod):
		p.State = "ready"
	default:
		if d := poddiagnosis.Of(pod, nil, ""); d != nil {
			p.State, p.Message = "failing", d.Message
		} else {
			p.Message = poddiagnosis.NotReady(pod, nil)
		}
	}
	return p
}
