package screen

import (
	"io"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/check"
	"example.com/nginx-operator/internal/plugin/traffic"
	"example.com/nginx-operator/internal/plugin/view"
	"example.com/nginx-operator/test/golden"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func printerTo(w io.Writer) Printer { return Printer{Out: w, Now: now} }

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// applicationOf returns an application with a condition Ready.
func applicationOf(name string, status metav1.ConditionStatus, reason, message string) v1alpha2.NginxOperator {
	n := v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2, CreationTimestamp: ago(48 * time.Hour)}}
	n.Spec.Replicas = new(int32(2))
	n.Status = v1alpha2.NginxOperatorStatus{
		ReadyReplicas: 2, Image: "nginx:1.30", NginxVersion: "1.30.6", Revision: 7,
		Config:    &v1alpha2.ConfigStatus{Revision: "0123456789abcdef", StableRevision: "fedcba9876543210", LoadedReplicas: 1},
		Addresses: []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: name + ".shop.svc"}},
		Conditions: []metav1.Condition{{
			Type: v1alpha2.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: 2, LastTransitionTime: ago(3 * time.Minute),
		}},
	}
	return n
}

// listed returns applications with a traffic of so many requests a second, one in ten of which fails.
func listed(requests float64, applications ...v1alpha2.NginxOperator) view.List {
	found := view.List{Total: len(applications)}
	for i := range applications {
		item := view.Listed{Nginx: applications[i]}
		if requests > 0 {
			item.Traffic = &view.ApplicationTraffic{Traffic: view.Traffic{RequestsPerSecond: requests, ErrorShare: 0.1, P50: 0.002, P99: 0.25}, Pods: 2, Answering: 2 - i%2}
		}
		found.Items = append(found.Items, item)
	}
	view.ListOrder[0].Sort(found.Items, view.ListedByName)
	return found
}

func TestList(t *testing.T) {
	stale := applicationOf("stale", metav1.ConditionTrue, "Ready", "")
	stale.Generation = 3
	waiting := applicationOf("waiting", metav1.ConditionFalse, "WaitingForGate", "")
	waiting.Status.WaitingRollout = &v1alpha2.WaitingRollout{Gates: []string{"backup"}}
	suspended := applicationOf("suspended", metav1.ConditionTrue, "Ready", "")
	suspended.Spec.Suspend = new(true)
	all := []v1alpha2.NginxOperator{
		applicationOf("a", metav1.ConditionTrue, "Ready", ""), suspended, waiting, stale,
		applicationOf("z", metav1.ConditionFalse, "ConfigRejected", "nginx refuses it\x1b[31m"),
		{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "new", CreationTimestamp: ago(time.Second)}},
	}
	measured := listed(12.34, all...)
	measured.Measured, measured.LeftOut, measured.MostPods, measured.Silent = true, 7, 12, []string{"pod a-2 does not answer within 1s"}
	measured.Items[1].Traffic = nil
	refused := listed(0, all[0])
	refused.Measured, refused.Forbidden = true, []string{"pods/proxy"}
	var out strings.Builder
	for _, tt := range []struct {
		found            view.List
		namespaces, wide bool
	}{
		{listed(0, all...), true, false}, {listed(0, all...), false, true}, {measured, true, false}, {refused, false, false},
		{view.List{}, false, false}, {view.List{Total: 3}, false, false},
	} {
		p := printerTo(&out)
		p.Wide = tt.wide
		if err := p.List(tt.found, tt.namespaces); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/list.txt", out.String())
}

// TestTop: applications, pods and server blocks with what they do, and what is missing.
func TestTop(t *testing.T) {
	fast := 0.002
	loads := func(name string) []view.Load {
		return []view.Load{
			{Namespace: "shop", Name: name + "-1\x1b[31m", Pods: 2, Answering: 1, Rates: traffic.Rates{Requests: 120, Errors: 6, P50: &fast, P99: &fast}, Connections: 3, Memory: 5 << 20},
			{Namespace: "shop", Name: name + "-2", Pods: 1},
		}
	}
	var out strings.Builder
	for _, top := range []view.Top{
		{Applications: loads("web"), Total: 3}, {Applications: loads("web"), Total: 3, LeftOut: 9, MostPods: 3, Silent: strings.Split("1 2 3 4 5 6 7", " ")}, {Total: 3}, {}, {LeftOut: 1, MostPods: 1},
	} {
		if err := printerTo(&out).TopApplications(top, true); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	servers := loads("server")
	for i := range servers {
		servers[i].Pods, servers[i].Answering = 0, 0
	}
	for _, top := range []view.Top{{Pods: loads("pod"), Servers: servers, Total: 2, Silent: []string{"pod pod-2: the answer cannot be read: \x1b[31m"}}, {Total: 2}, {Total: 1}, {}} {
		if err := printerTo(&out).TopPods(top); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden.Compare(t, "testdata/top.txt", out.String())
}

func TestStatus(t *testing.T) {
	n := applicationOf("web", metav1.ConditionFalse, "ConfigRejected", "nginx refused the configuration: site.conf:3: unknown directive \"lisen\"\x1b[31m\nred")
	n.Status.Certificates = []v1alpha2.CertificateStatus{{Name: "site", SerialNumber: "0a1b", NotAfter: new(metav1.NewTime(now.Add(50 * time.Hour)))}, {Name: "missing"}}
	n.Status.WaitingRollout = &v1alpha2.WaitingRollout{Gates: []string{"backup", "review"}, Since: ago(time.Hour)}
	pod := func(name, node string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(time.Hour), Annotations: map[string]string{naming.AnnotationTemplate: "t7"}},
			Spec:       corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
				ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}},
			},
		}
	}
	a := view.Application{
		Nginx: n, Pods: []corev1.Pod{pod("web-2", "", corev1.ConditionFalse), pod("web-1", "node-1", corev1.ConditionTrue)},
		History: history.History{{Number: 7, Template: "t7"}, {Number: 8, Template: "t8", Stage: history.Canary, StartedAt: now.Add(-time.Minute)}},
		Backups: []backupv1alpha1.NginxBackup{backupOf("web-3", backupv1alpha1.ReasonStoreFull, metav1.ConditionFalse), backupOf("web-2", "Completed", metav1.ConditionTrue), backupOf("web-1", "Completed", metav1.ConditionTrue)},
		Scalers: []autoscalingv2.HorizontalPodAutoscaler{{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 9}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 4}}}, Zones: map[string]string{"node-1": "zone-a"},
		Silent:  []string{"pod web-2 does not answer within 1s"},
		Traffic: map[string]view.Traffic{"web-1": {RequestsPerSecond: 12.4, ErrorShare: 0.0123, P50: 0.0042, P99: 1.5}},
		Events: []eventsv1.Event{
			{Reason: "Older", Note: "first", EventTime: metav1.NewMicroTime(now.Add(-time.Hour))},
			{Reason: "ConfigRejected", Note: "nginx refused it", EventTime: metav1.NewMicroTime(now.Add(-time.Hour)), Series: &eventsv1.EventSeries{LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}},
		},
		Forbidden: []string{"nodes"},
	}
	var out strings.Builder
	if err := printerTo(&out).Status(a); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/status.txt", out.String())
}

func backupOf(name, reason string, completed metav1.ConditionStatus) backupv1alpha1.NginxBackup {
	b := backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(3 * time.Hour)}}
	b.Status.Conditions = []metav1.Condition{{Type: backupv1alpha1.ConditionCompleted, Status: completed, Reason: reason}}
	return b
}

func TestHistory(t *testing.T) {
	var out strings.Builder
	err := printerTo(&out).History(history.History{
		{Number: 6, State: history.StateGood, ServedAt: now.Add(-time.Hour), Image: "nginx:1.28", Config: "0123456789abcdef", Cause: "first rollout"},
		{Number: 7, State: history.StateFailed, Image: "nginx:1.30", Cause: "image nginx:1.28 → nginx:1.30", Failure: history.Failure{Reason: "ImagePullFailed", Message: "not found"}},
	}, 6)
	if err == nil {
		err = printerTo(&out).History(nil, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/history.txt", out.String())
}

// TestSafe: a name or message of the cluster cannot control the terminal.
func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"plain → ü": "plain → ü", "a\nb\tc": "a b c", "\x1b[31mred": "[31mred", "a\u202eb\u0085c\x00": "abc",
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestTree(t *testing.T) {
	object := func(kind, name, owner string, fields map[string]any) unstructured.Unstructured {
		o := unstructured.Unstructured{Object: fields}
		o.SetKind(kind)
		o.SetName(name)
		o.SetUID(types.UID(kind + name))
		o.SetCreationTimestamp(ago(time.Hour))
		if owner != "" {
			o.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(owner)}})
		}
		return o
	}
	ready := func(status, reason string) map[string]any {
		return map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason}}}}
	}
	tree := view.Tree{
		Root: object("NginxOperator", "web", "", map[string]any{"spec": map[string]any{"replicas": int64(2)}, "status": map[string]any{"readyReplicas": int64(1)}}),
		Objects: []unstructured.Unstructured{
			object("Pod", "web-1", "ReplicaSetweb-5", ready("True", "")),
			object("Pod", "web-2", "ReplicaSetweb-5", ready("False", "ContainersNotReady")),
			object("ReplicaSet", "web-5", "Deploymentweb", map[string]any{"spec": map[string]any{"replicas": int64(2)}}),
			object("Deployment", "web", "NginxOperatorweb", map[string]any{"spec": map[string]any{"replicas": int64(2)}}),
			object("Service", "web", "NginxOperatorweb", map[string]any{}),
			object("Certificate", "web-site", "unknown", ready("False", "")),
			object("Secret", "circle", "Secretcircle", map[string]any{}),
		},
		Forbidden: []string{"Ingress"},
	}
	tree.Objects[4].SetDeletionTimestamp(new(ago(0)))
	var out strings.Builder
	if err := printerTo(&out).Tree(&tree); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/tree.txt", out.String())
}

func TestChecks(t *testing.T) {
	var out strings.Builder
	for _, results := range [][]check.Result{
		{
			{Name: "Kubernetes", State: check.OK, Message: "1.37"},
			{Name: "operator", State: check.Failed, Message: "no pod is \x1b[31mavailable\n", Next: "kubectl describe pods"},
			{Name: "leader", State: check.Warning, Message: "", Next: "see\x07 the log"},
		},
		{{Name: "Kubernetes", State: check.OK, Message: "1.37"}},
	} {
		if err := printerTo(&out).Checks(results); err != nil {
			t.Fatal(err)
		}
	}
	golden.Compare(t, "testdata/checks.txt", out.String())
}
