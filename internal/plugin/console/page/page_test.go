package page

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/golden"
)

var start = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(d)) }

// web is an application in the middle of a rollout, whose configuration nginx refuses.
func web() *v1alpha2.NginxOperator {
	n := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 3, CreationTimestamp: after(0)}}
	n.Spec.Replicas = new(int32(3))
	n.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{}, Gates: []string{"backup"}, ToRevision: new(int64(1))}
	n.Spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "site-tls"}, {Name: "new", SecretName: "new-tls"}}
	n.Status = v1alpha2.NginxOperatorStatus{
		ReadyReplicas: 2, UpdatedReplicas: 1, Restarts: 4, Image: "nginx:1.30", NginxVersion: "1.30.6", Revision: 1,
		Config:       &v1alpha2.ConfigStatus{Revision: "2222222222222222", StableRevision: "1111111111111111", TestedReplicas: 2, LoadedReplicas: 1},
		Certificates: []v1alpha2.CertificateStatus{{Name: "site", SerialNumber: "0a", NotAfter: new(after(48 * time.Hour))}, {Name: "new"}},
		Addresses:    []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: "web.shop.svc"}},
		Conditions: []metav1.Condition{
			{Type: "ConfigValid", Status: "False", Reason: "ConfigRejected", Message: `nginx refused the configuration: site.conf:2: unknown directive "lisen"`, ObservedGeneration: 3, LastTransitionTime: after(time.Minute)},
			{Type: "UpToDate", Status: "False", Reason: "CanaryRunning", Message: "comparing", ObservedGeneration: 2, LastTransitionTime: after(time.Minute)},
			{Type: "Ready", Status: "False", Reason: "ConfigRejected", Message: "nginx refused", ObservedGeneration: 3, LastTransitionTime: after(time.Minute)},
		},
	}
	return n
}

func revision(number int64, template, state string, annotations map[string]string) appsv1.ControllerRevision {
	annotations[naming.AnnotationTemplate] = template
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + template, UID: "u", Labels: map[string]string{naming.LabelRevisionState: state}, Annotations: annotations},
		Revision:   number,
	}
}

func pod(name, node, zone, template string, ready corev1.ConditionStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: after(time.Minute), Labels: map[string]string{corev1.LabelTopologyZone: zone}, Annotations: map[string]string{naming.AnnotationTemplate: template},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, Message: "containers with unready status: [nginx]"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "nginx", RestartCount: 2, Ready: ready == corev1.ConditionTrue}},
		},
	}
}

func configMap(name, revision string, files map[string]string) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{naming.AnnotationConfig: revision}}, Data: files}
}

func backup(name, target string, conditions ...metav1.Condition) Backup {
	b := Backup{}
	b.Metadata.Name, b.Metadata.CreationTimestamp = name, after(time.Hour)
	b.Spec.Target.Name, b.Spec.Trigger = target, "Change"
	b.Status.Conditions, b.Status.Size = conditions, "3Ki"
	return b
}

func objects() *Objects {
	unscheduled := pod("web-d", "", "", "t2", corev1.ConditionFalse)
	unscheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available"}}
	ending := pod("web-c", "node-2", "", "t1", corev1.ConditionTrue)
	ending.DeletionTimestamp = new(after(time.Minute))
	completed := metav1.Condition{Type: "Completed", Status: "True"}
	return &Objects{
		Nginx: web(),
		Pods:  []corev1.Pod{pod("web-b", "node-1", "zone-1", "t2", corev1.ConditionFalse), pod("web-a", "node-1", "zone-1", "t1", corev1.ConditionTrue), ending, unscheduled},
		Revisions: []appsv1.ControllerRevision{
			revision(2, "t2", "candidate", map[string]string{naming.AnnotationStage: "Canary", naming.AnnotationStartedAt: start.Format(time.RFC3339), naming.AnnotationImage: "nginx:1.31"}),
			revision(1, "t1", "good", map[string]string{naming.AnnotationServedAt: start.Format(time.RFC3339), naming.AnnotationImage: "nginx:1.30", naming.AnnotationChangeCause: "first rollout"}),
		},
		ConfigMaps: []corev1.ConfigMap{
			configMap("web-config", "1111111111111111", map[string]string{"site.conf": "server {\n    listen 80;\n}\n", "old.conf": "# old\n"}),
			configMap("web-config-next", "2222222222222222", map[string]string{"site.conf": "server {\n    lisen 80;\n}\n", "new.conf": "# new\n", "nginx-operator-trust.json": "{}"}),
			configMap("another", "3", nil),
		},
		Events: []eventsv1.Event{
			{Type: "Normal", Reason: "Available", Note: "2 pods serve", EventTime: metav1.NewMicroTime(start)},
			{Type: "Warning", Reason: "ConfigRejected", Note: "refused", Series: &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(start.Add(time.Minute))}},
		},
		Backups: []Backup{
			backup("web-1", "web", completed, metav1.Condition{Type: "Verified", Status: "True"}), backup("web-2", "web", completed),
			backup("web-3", "web", metav1.Condition{Type: "Completed", Status: "False", Reason: "InProgress", Message: "a job writes"}),
			backup("web-4", "web", metav1.Condition{Type: "Completed", Status: "False", Reason: "JobFailed", Message: "killed"}), backup("other", "other"),
		},
		Zones:    map[string]string{"node-2": "zone-2"},
		NotShown: map[string]string{"nodes": "nodes is forbidden", "events": "events is forbidden"},
	}
}

func TestParts(t *testing.T) {
	text, err := json.MarshalIndent(Parts(objects()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/parts.json", string(text)+"\n")
}

func TestPartsMissing(t *testing.T) {
	if diff := cmp.Diff([]Part{{"missing", true}}, Parts(&Objects{})); diff != "" {
		t.Error(diff)
	}
}

// TestPartsWithoutStatus: an application that the operator has not seen yet has a page.
func TestPartsWithoutStatus(t *testing.T) {
	for _, part := range Parts(&Objects{Nginx: &v1alpha2.NginxOperator{}}) {
		if text, err := json.Marshal(part.Data); err != nil || string(text) == "null" {
			t.Errorf("%s is %s: %v", part.Name, text, err)
		}
	}
}

func TestDiff(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		want          []Line
	}{
		"both empty":     {"", "", []Line{}},
		"same":           {"a\nb\n", "a\nb\n", []Line{{"", "a", 1}, {"", "b", 2}}},
		"changed":        {"a\nb\nc\n", "a\nB\nc\n", []Line{{"", "a", 1}, {"-", "b", 0}, {"+", "B", 2}, {"", "c", 3}}},
		"new":            {"", "a\nb", []Line{{"+", "a", 1}, {"+", "b", 2}}},
		"gone":           {"a\n", "", []Line{{"-", "a", 0}}},
		"end of line":    {"a", "a\n", []Line{{"-", "a", 0}, {"+", "a", 1}}},
		"begin and end":  {"b\n", "a\nb\nc\n", []Line{{"+", "a", 1}, {"", "b", 2}, {"+", "c", 3}}},
		"empty lines":    {"\n\n", "\nx\n", []Line{{"", "", 1}, {"-", "", 0}, {"+", "x", 2}}},
		"no new line":    {"a\nb", "a\nc", []Line{{"", "a", 1}, {"-", "b", 0}, {"+", "c", 2}}},
		"carriage":       {"a\r\n", "a\n", []Line{{"-", "a\r", 0}, {"+", "a", 1}}},
		"many unchanged": {"1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n5\n6\n7\n9\n", []Line{{"", "1", 1}, {"", "2", 2}, {"", "3", 3}, {"", "4", 4}, {"", "5", 5}, {"", "6", 6}, {"", "7", 7}, {"-", "8", 0}, {"+", "9", 8}}},
	} {
		if diff := cmp.Diff(tt.want, Diff(tt.before, tt.after)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestHunks(t *testing.T) {
	want := []Line{{"…", "", 0}, {"", "3", 3}, {"", "4", 4}, {"-", "5", 0}, {"", "6", 5}, {"", "7", 6}}
	if diff := cmp.Diff(want, Hunks("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n6\n7\n8\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Hunks("a\n", "a\n"); len(got) != 0 {
		t.Errorf("no change has the lines %v", got)
	}
}

func TestProblems(t *testing.T) {
	for message, want := range map[string][]Problem{
		`nginx refused the configuration: site.conf:2: unknown directive "lisen"; port http (80/TCP) is declared`: {{"site.conf", 2, `unknown directive "lisen"`}},
		"a.conf:1: one; b.conf:20: two; and 3 more":                                                               {{"a.conf", 1, "one"}, {"b.conf", 20, "two"}},
		"/etc/nginx/conf.d/x.conf:7: bad":                                                                         {{"x.conf", 7, "bad"}},
		"a.conf:99999999999999999999: bad":                                                                        nil,
		"cannot load certificate: no such file":                                                                   nil,
		"":                                                                                                        nil,
	} {
		if diff := cmp.Diff(want, problems(message)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", message, diff)
		}
	}
}
