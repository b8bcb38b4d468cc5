package census

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(namespace, name string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestFewest(t *testing.T) {
	var c Census
	for _, name := range []string{"a", "b", "c"} {
		c.See(pod("one", name, corev1.ConditionTrue), false)
	}
	c.See(pod("other", "a", corev1.ConditionFalse), false)
	c.Expect("one")
	if n := c.Fewest("one"); n != 3 {
		t.Errorf("%d pods are ready, want 3", n)
	}
	c.See(pod("one", "a", corev1.ConditionFalse), false)
	c.See(pod("one", "b", corev1.ConditionTrue), true)
	c.See(pod("one", "a", corev1.ConditionTrue), false)
	c.See(pod("one", "d", corev1.ConditionTrue), false)
	if n := c.Fewest("one"); n != 1 {
		t.Errorf("%d pods were ready at least, want 1", n)
	}
	if c.Expect("one"); c.Fewest("one") != 3 {
		t.Errorf("%d pods are ready now, want 3", c.Fewest("one"))
	}
	if c.Forget("one"); c.Fewest("one") != 0 {
		t.Error("a forgotten namespace has pods")
	}
}
