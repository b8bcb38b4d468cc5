package page

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
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
	State    string `json:"state"`
	Message  string `json:"message,omitempty"`
	Template string `json:"template"`
	Revision int64  `json:"revision,omitempty"`
	// Target reports whether the pod has the template that the rollout under way leads to, or else the current one.
	Target   bool      `json:"target"`
	Restarts int32     `json:"restarts,omitempty"`
	Created  time.Time `json:"created"`
	IP       string    `json:"ip,omitempty"`
}

// pods returns the pods by zone and node.
func pods(o *Objects, h history.History) []Node {
	byNode := map[string]*Node{}
	nodes, target := []Node{}, targetOf(o.Nginx, h)
	for i := range o.Pods {
		pod := &o.Pods[i]
		name := pod.Spec.NodeName
		if byNode[name] == nil {
			byNode[name] = &Node{Name: name, Zone: ZoneOf(pod, o.Zones)}
		}
		byNode[name].Pods = append(byNode[name].Pods, podOf(pod, h, target))
	}
	for _, node := range byNode {
		slices.SortFunc(node.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
		nodes = append(nodes, *node)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Name, b.Name)) })
	return nodes
}

// targetOf returns the template of the revision that is rolled out, or else of the current one.
func targetOf(n *v1alpha2.NginxOperator, h history.History) string {
	template := ""
	for i := range h {
		if h[i].Stage != "" {
			return h[i].Template
		}
		if h[i].Number == n.Status.Revision {
			template = h[i].Template
		}
	}
	return template
}

// ZoneOf returns the zone of a pod. Kubernetes copies it from the node to the pod since version 1.35.
func ZoneOf(pod *corev1.Pod, zones map[string]string) string {
	return cmp.Or(pod.Labels[corev1.LabelTopologyZone], zones[pod.Spec.NodeName])
}

func podOf(pod *corev1.Pod, h history.History, target string) Pod {
	template := observe.TemplateOf(pod)
	p := Pod{
		Name: pod.Name, State: "starting", Template: template, Created: pod.CreationTimestamp.UTC(), IP: pod.Status.PodIP,
		Target: template == target,
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
