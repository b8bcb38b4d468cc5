package desired

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/golden"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

var options = Options{DefaultImage: "nginx:default"}

// sample reads a resource of testdata.
func sample(t *testing.T, name string) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{}
	text := golden.Read(t, filepath.Join("testdata", name+".yaml"))
	if err := yaml.UnmarshalStrict([]byte(text), nginx); err != nil {
		t.Fatal(err)
	}
	return nginx
}

func build(t *testing.T, nginx *v1alpha2.NginxOperator, state observe.State) (*Plan, Blocked) {
	t.Helper()
	plan, blocked, err := Build(nginx, state, options)
	if err != nil {
		t.Fatal(err)
	}
	return plan, blocked
}

// TestGolden has one golden file for each owned object.
func TestGolden(t *testing.T) {
	for _, name := range []string{"least", "full"} {
		plan, blocked := build(t, sample(t, name), observe.State{})
		if blocked.Reason != "" {
			t.Fatalf("%s is blocked: %+v", name, blocked)
		}
		for _, intent := range plan.Intents {
			t.Run(name+"/"+intent.Kind.Name, func(t *testing.T) {
				text := "# should not exist\n"
				if intent.ShouldExist() {
					encoded, err := yaml.Marshal(intent.Fields)
					if err != nil {
						t.Fatal(err)
					}
					text = string(encoded)
				}
				golden.Compare(t, filepath.Join("testdata", name, strings.ToLower(intent.Kind.Name)+".yaml"), text)
			})
		}
	}
}

func find(t *testing.T, plan *Plan, kind string) Intent {
	t.Helper()
	for _, intent := range plan.Intents {
		if intent.Kind.Name == kind {
			return intent
		}
	}
	t.Fatalf("there is no %s in the plan", kind)
	return Intent{}
}

func replicasOf(t *testing.T, plan *Plan) *int32 {
	t.Helper()
	return find(t, plan, "Deployment").Config.(*appsv1ac.DeploymentApplyConfiguration).Spec.Replicas
}

func TestReplicas(t *testing.T) {
	live := func(replicas int32, managers ...string) map[observe.Key]observe.Object {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		for _, m := range managers {
			d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: m, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
			})
		}
		return map[observe.Key]observe.Object{{Kind: "Deployment", Name: "web"}: d}
	}
	tests := map[string]struct {
		spec  *int32
		state observe.State
		want  *int32
	}{
		"default":                  {nil, observe.State{}, new(int32(1))},
		"asked for":                {new(int32(3)), observe.State{}, new(int32(3))},
		"zero":                     {new(int32(0)), observe.State{}, new(int32(0))},
		"drift":                    {new(int32(3)), observe.State{Owned: live(7)}, new(int32(3))},
		"autoscaler, nothing live": {new(int32(3)), observe.State{Autoscaler: "a"}, new(int32(3))},
		"autoscaler not yet owner": {new(int32(3)), observe.State{Autoscaler: "a", Owned: live(7, naming.FieldManager)}, new(int32(7))},
		"autoscaler is owner":      {new(int32(3)), observe.State{Autoscaler: "a", Owned: live(7, "kube-controller-manager")}, nil},
		"autoscaler gone":          {new(int32(3)), observe.State{Owned: live(7, "kube-controller-manager")}, new(int32(3))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nginx := sample(t, "least")
			nginx.Spec.Replicas = tt.spec
			plan, _ := build(t, nginx, tt.state)
			got := replicasOf(t, plan)
			if !ptr.Equal(got, tt.want) {
				t.Errorf("replicas = %v, want %v", ptr.Deref(got, -1), ptr.Deref(tt.want, -1))
			}
		})
	}
}

// TestConfiguration looks at which configuration is planned and what blocks it.
func TestConfiguration(t *testing.T) {
	good := nginxconf.Files{"site.conf": "server {}"}
	fromMap := &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}}
	tests := map[string]struct {
		config *v1alpha2.Config
		source *observe.Source
		live   nginxconf.Files
		// reason and message are what blocks, empty for nothing.
		reason, message string
		// file and text are part of the planned configuration; no file: there is none.
		file, text string
	}{
		"built in": {file: "default.conf", text: "listen 80;"},
		"inline": {config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server {}"}},
			file: "site.conf", text: "server {}"},
		"inline without a configuration": {config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.html": ""}},
			reason: v1alpha2.ReasonConfigInvalid, message: "spec.config.files: the configuration has no file that ends in .conf"},
		"referenced": {config: fromMap, source: &observe.Source{Name: "conf", Found: true, Files: good}, file: "site.conf", text: "server {}"},
		"missing": {config: fromMap, source: &observe.Source{Name: "conf"},
			reason: v1alpha2.ReasonConfigMapNotFound, message: "ConfigMap conf, named by spec.config, does not exist in namespace shop"},
		"missing, with an earlier one": {config: fromMap, source: &observe.Source{Name: "conf"}, live: nginxconf.Files{"old.conf": "old"},
			reason: v1alpha2.ReasonConfigMapNotFound, message: "ConfigMap conf", file: "old.conf", text: "old"},
		"of the operator's own making": {config: fromMap, source: &observe.Source{Name: "conf", Found: true, RenderedFor: "web"},
			reason: v1alpha2.ReasonConfigInvalid, message: "rendered for NginxOperator web"},
		"binary": {config: fromMap, source: &observe.Source{Name: "conf", Found: true, Files: good, HasBinary: true},
			reason: v1alpha2.ReasonConfigInvalid, message: "binaryData"},
		"invalid, with an earlier one": {config: fromMap, source: &observe.Source{Name: "conf", Found: true}, live: nginxconf.Files{"old.conf": "old"},
			reason: v1alpha2.ReasonConfigInvalid, message: "ConfigMap conf: the configuration has no files", file: "old.conf", text: "old"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nginx := sample(t, "least")
			nginx.Spec.Config = tt.config
			plan, blocked := build(t, nginx, observe.State{Source: tt.source, Owned: rendered(t, nginx, tt.live)})
			if blocked.Reason != tt.reason || !strings.Contains(blocked.Message, tt.message) {
				t.Errorf("blocked = %+v, want %s: %s", blocked, tt.reason, tt.message)
			}
			if (plan.Config.Revision != "") != (tt.file != "") {
				t.Fatalf("the planned configuration is %+v", plan.Config)
			}
			if !strings.Contains(plan.Config.Files[tt.file], tt.text) {
				t.Errorf("%s = %q, want %q", tt.file, plan.Config.Files[tt.file], tt.text)
			}
		})
	}
}

// rendered is a live Deployment that serves files, and their ConfigMap.
func rendered(t *testing.T, nginx *v1alpha2.NginxOperator, files nginxconf.Files) map[observe.Key]observe.Object {
	t.Helper()
	if files == nil {
		return nil
	}
	config, err := nginxconf.Render(files)
	if err != nil {
		t.Fatal(err)
	}
	serving := &appsv1.Deployment{}
	serving.Spec.Template.Annotations = map[string]string{naming.AnnotationConfig: config.Revision}
	return map[observe.Key]observe.Object{
		{Kind: "Deployment", Name: "web"}: serving,
		{Kind: "ConfigMap", Name: "last"}: &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:            "last",
				Annotations:     map[string]string{naming.AnnotationConfig: config.Revision},
				OwnerReferences: []metav1.OwnerReference{{UID: nginx.UID, Controller: new(true)}},
			},
			Data: config.Files,
		},
	}
}

// TestTamperedConfigurationIsNotTakenForTheLastGoodOne guards what a missing
// reference falls back to.
func TestTamperedConfigurationIsNotTakenForTheLastGoodOne(t *testing.T) {
	nginx := sample(t, "least")
	nginx.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}}
	owned := rendered(t, nginx, nginxconf.Files{"old.conf": "old"})
	owned[observe.Key{Kind: "ConfigMap", Name: "last"}].(*corev1.ConfigMap).Data["old.conf"] = "evil"
	plan, _ := build(t, nginx, observe.State{Source: &observe.Source{Name: "conf"}, Owned: owned})
	if plan.Config.Revision != "" {
		t.Errorf("a tampered configuration was planned: %v", plan.Config.Files)
	}
	var kinds []string
	for _, intent := range plan.Intents {
		kinds = append(kinds, intent.Kind.Name)
	}
	if diff := cmp.Diff([]string{"ServiceAccount", "Service", "PodDisruptionBudget"}, kinds); diff != "" {
		t.Errorf("what needs no configuration goes on (-want +got):\n%s", diff)
	}
}

func TestMissingContentBlocksAndKeepsThePlan(t *testing.T) {
	plan, blocked := build(t, sample(t, "least"), observe.State{MissingContent: []string{"pages"}})
	if plan == nil || blocked.Reason != v1alpha2.ReasonConfigMapNotFound || !strings.Contains(blocked.Message, "pages") {
		t.Errorf("plan = %v, blocked = %+v", plan != nil, blocked)
	}
}

// TestPodTemplateCannotWeaken lets a hostile podTemplate say what the schema allows.
func TestPodTemplateCannotWeaken(t *testing.T) {
	nginx := sample(t, "least")
	nginx.Spec.PodTemplate = &v1alpha2.PodTemplate{
		Labels:      map[string]string{naming.LabelApplication: "other", "app.kubernetes.io/name": "other", "mine": "x"},
		Annotations: map[string]string{naming.AnnotationConfig: "other", "mine": "x"},
		Containers:  []v1alpha2.Container{{Name: "side", Image: "i", RunAsUser: new(int64(1))}},
	}
	plan, _ := build(t, nginx, observe.State{})
	template := find(t, plan, "Deployment").Config.(*appsv1ac.DeploymentApplyConfiguration).Spec.Template
	for _, pair := range [][2]string{
		{template.Labels[naming.LabelApplication], nginx.Name},
		{template.Labels["app.kubernetes.io/name"], "nginx"},
		{template.Annotations[naming.AnnotationConfig], plan.Config.Revision},
		{template.Labels["mine"] + template.Annotations["mine"], "xx"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q, want %q", pair[0], pair[1])
		}
	}
	for _, c := range template.Spec.Containers {
		s := c.SecurityContext
		if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("container %s is not hardened: %+v", *c.Name, s)
		}
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	for range 20 {
		first, _ := build(t, sample(t, "full"), observe.State{})
		second, _ := build(t, sample(t, "full"), observe.State{})
		for i := range first.Intents {
			a, errA := yaml.Marshal(first.Intents[i].Fields)
			b, errB := yaml.Marshal(second.Intents[i].Fields)
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Fatalf("%s differs between two builds of the same resource", first.Intents[i].Kind.Name)
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Build(nginx, observe.State{}, options); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRevisionsAreKeptWhileTheyAreNeeded: a container that restarts has to find what
// its pod was made with.
func TestRevisionsAreKeptWhileTheyAreNeeded(t *testing.T) {
	nginx := sample(t, "least")
	tests := map[string]struct {
		rollingOut bool
		podServes  string
		want       []string
	}{
		"rolled out":           {false, "r2", []string{"web-config-r0", "web-config-r1"}},
		"an old pod is left":   {false, "r1", []string{"web-config-r0"}},
		"rollout is under way": {true, "r2", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}}
			d.Spec.Template.Annotations = map[string]string{naming.AnnotationConfig: "r2"}
			if tt.rollingOut {
				d.Status.Replicas = 2
			}
			state := observe.State{
				Owned: map[observe.Key]observe.Object{{Kind: "Deployment", Name: "web"}: d},
				Pods:  []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{naming.AnnotationConfig: tt.podServes}}}},
			}
			for _, revision := range []string{"r0", "r1", "r2"} {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: "web-config-" + revision, Annotations: map[string]string{naming.AnnotationConfig: revision},
				}}
				state.Owned[observe.Key{Kind: "ConfigMap", Name: cm.Name}] = cm
			}
			plan, _ := build(t, nginx, state)
			var got []string
			for _, intent := range plan.Intents {
				if intent.Kind.Name == "ConfigMap" && !intent.ShouldExist() {
					got = append(got, intent.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
