package kubelet

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestChoose: the last node takes one pod, and a lost node takes none.
func TestChoose(t *testing.T) {
	var n nodes
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	var got []string
	for i := range 4 {
		got = append(got, n.choose(pod(fmt.Sprint(i))))
	}
	if fmt.Sprint(got) != "[node-1 node-2 node-1 node-1]" || n.choose(pod("1")) != "node-2" {
		t.Errorf("the nodes are %v", got)
	}
	if gone := n.lose(node{"shop", "node-2"}); len(gone) != 1 {
		t.Errorf("it had %v", gone)
	}
	n.leave(n.lose(node{"shop", "node-2"})[0])
	if at := n.choose(pod("5")); at != "node-1" {
		t.Errorf("a pod is given to %s", at)
	}
}
