package kubelet

import (
	"context"
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeNames holds the names of the nodes. The last node has room for one pod of each template, so
// the final number of pods there does not depend on earlier events.
var nodeNames = []string{"node-1", lastNode}

const lastNode = "node-2"

// nodes records the pods that were bound to nodes. The zero value is empty.
type nodes struct {
	mu   sync.Mutex
	pods map[client.ObjectKey]bound
	lost map[node]bool
}

// bound is the node and the template of a bound pod.
type bound struct{ node, template string }

// node is a node of one namespace: its failure does not affect the journeys in other namespaces.
type node struct{ namespace, name string }

// choose returns a node for a pod: among the nodes with room, the first of those with the fewest
// pods of the template.
func (n *nodes) choose(pod *corev1.Pod) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key, template := client.ObjectKeyFromObject(pod), pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if at, known := n.pods[key]; known {
		return at.node
	}
	count := map[string]int{}
	for other, at := range n.pods {
		if other.Namespace == key.Namespace && at.template == template {
			count[at.node]++
		}
	}
	best := ""
	for _, name := range nodeNames {
		full := name == lastNode && count[name] > 0
		if !full && !n.lost[node{key.Namespace, name}] && (best == "" || count[name] < count[best]) {
			best = name
		}
	}
	if n.pods == nil {
		n.pods = map[client.ObjectKey]bound{}
	}
	n.pods[key] = bound{best, template}
	return best
}

// leave removes a pod that is gone.
func (n *nodes) leave(key client.ObjectKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pods, key)
}

// forget removes the pods of a namespace.
func (n *nodes) forget(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.pods, func(key client.ObjectKey, _ bound) bool { return key.Namespace == namespace })
	maps.DeleteFunc(n.lost, func(of node, _ bool) bool { return of.namespace == namespace })
}

// lose marks a node as unreachable and returns its pods.
func (n *nodes) lose(of node) []client.ObjectKey {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost == nil {
		n.lost = map[node]bool{}
	}
	n.lost[of] = true
	var pods []client.ObjectKey
	for key, at := range n.pods {
		if key.Namespace == of.namespace && at.node == of.name {
			pods = append(pods, key)
		}
	}
	return pods
}

func (n *nodes) isLost(pod *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[node{pod.Namespace, pod.Spec.NodeName}]
}

// bind binds a pod to a node, as the scheduler does.
func (k *Kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	return k.client.SubResource("binding").Create(ctx, pod.DeepCopy(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: k.nodes.choose(pod)},
	})
}

// Lose makes a node unreachable for a namespace: its instances stop responding, and its pods become
// not ready, as the node lifecycle controller reports it.
func (k *Kubelet) Lose(ctx context.Context, namespace, name string) error {
	for _, key := range k.nodes.lose(node{namespace, name}) {
		pod := &corev1.Pod{}
		if err := k.client.Get(ctx, key, pod); err != nil {
			return err
		}
		if err := k.silence(key); err != nil {
			return err
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "NodeNotReady", metav1.Now()
			}
		}
		if err := k.client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// silence ends the instance of a pod and leaves the pod.
func (k *Kubelet) silence(key client.ObjectKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.books.leave(key)
	if running := k.instances[key]; running != nil {
		delete(k.instances, key)
		return running.Close()
	}
	return nil
}

// finish removes a pod that is being deleted and was bound to a node: the API server waits until
// the node confirms the deletion.
func (k *Kubelet) finish(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.NodeName == "" || k.nodes.isLost(pod) {
		return nil
	}
	return client.IgnoreNotFound(k.client.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
}
