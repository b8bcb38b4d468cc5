package screen

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/explain"
	"example.com/nginx-operator/internal/plugin/view"
	"example.com/nginx-operator/test/golden"
)

// TestExplain: the causes are in the order in which one causes the other, each with the commands to use next.
func TestExplain(t *testing.T) {
	refused := applicationOf("web", metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, "refused")
	for _, c := range []metav1.Condition{
		{Type: v1alpha2.ConditionConfigValid, Status: metav1.ConditionUnknown, Reason: v1alpha2.ReasonConfigPending, Message: "Not every pod has tested the configuration yet"},
		{Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonImagePullFailed, Message: "on node-2: the image nginx:nope cannot be pulled\x1b[2J"},
		{Type: v1alpha2.ConditionAvailable, Status: metav1.ConditionFalse, Reason: "FromALaterRelease", Message: "nobody knows it yet"},
	} {
		c.LastTransitionTime = ago(3 * time.Minute)
		refused.Status.Conditions = append(refused.Status.Conditions, c)
	}
	stuck := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-2"}, Spec: corev1.PodSpec{NodeName: "node-2"}, Status: corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [nginx]"}},
	}}
	silent := applicationOf("silent", metav1.ConditionTrue, v1alpha2.ReasonReady, "")
	silent.Generation += 2
	pinned := applicationOf("pinned", metav1.ConditionTrue, v1alpha2.ReasonReady, "")
	pinned.Spec.Rollout, pinned.Spec.Suspend = &v1alpha2.Rollout{ToRevision: new(int64(6))}, new(true)
	var out strings.Builder
	for _, a := range []view.Application{{Nginx: refused, Pods: []corev1.Pod{stuck}}, {Nginx: silent}, {Nginx: pinned}} {
		if err := printerTo(&out).Explain(explain.Explain(&a)); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/explain.txt", out.String())
}

// TestColours: tones are colours on terminals only, and do not change how columns are aligned.
func TestColours(t *testing.T) {
	var plain, coloured strings.Builder
	for out, colours := range map[*strings.Builder]bool{&plain: false, &coloured: true} {
		p := Printer{Out: out, Now: now, Colours: colours}
		if err := p.table("NAME", "STATE").row("web", "Ready").mark(1, good).row("a-long-name", "Failed").mark(1, bad).print(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "NAME          STATE\nweb           Ready\na-long-name   Failed\n"; plain.String() != want {
		t.Errorf("without colours: %q", plain.String())
	}
	if want := "\x1b[2mNAME\x1b[0m          \x1b[2mSTATE\x1b[0m\nweb           \x1b[32mReady\x1b[0m\na-long-name   \x1b[31mFailed\x1b[0m\n"; coloured.String() != want {
		t.Errorf("with colours: %q", coloured.String())
	}
}
