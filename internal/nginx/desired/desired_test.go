package desired

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/golden"
)

var options = revision.Options{DefaultImage: "nginx:default", InstanceImage: "operator:v1"}

// sample reads a resource from testdata.
func sample(t testing.TB, name string) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{}
	text := golden.Read(t, filepath.Join("testdata", name+".yaml"))
	if err := yaml.UnmarshalStrict([]byte(text), nginx); err != nil {
		t.Fatal(err)
	}
	return nginx
}

func build(t *testing.T, nginx *v1alpha2.NginxOperator, state observe.State) (*plan, revision.Blocked) {
	t.Helper()
	plan, blocked, err := planFor(revision.Input{Nginx: nginx, State: state, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return plan, blocked
}

// TestGolden: each owned object matches its golden file.
func TestGolden(t *testing.T) {
	for _, name := range []string{"least", "full"} {
		plan, blocked := build(t, sample(t, name), observe.State{})
		if blocked.Reason != "" {
			t.Fatalf("%s is blocked: %+v", name, blocked)
		}
		for _, intent := range plan.Intents {
			t.Run(name+"/"+intent.Kind.Name+"/"+intent.Name, func(t *testing.T) {
				text := "# should not exist\n"
				if intent.ShouldExist() {
					encoded, err := yaml.Marshal(intent.Fields)
					if err != nil {
						t.Fatal(err)
					}
					text = string(encoded)
				}
				file := strings.ToLower(intent.Kind.Name)
				if intent.Name == naming.ConfigMapNext("web") {
					file += "-next"
				}
				if intent.Kind.Definition != "" {
					file += "-" + intent.Name
				}
				golden.Compare(t, filepath.Join("testdata", name, file+".yaml"), text)
			})
		}
	}
}

func find(t *testing.T, plan *plan, kind string) owned.Intent {
	t.Helper()
	for _, intent := range plan.Intents {
		if intent.Kind.Name == kind {
			return intent
		}
	}
	t.Fatalf("there is no %s in the plan", kind)
	return owned.Intent{}
}

func replicasOf(t *testing.T, plan *plan) *int32 {
	t.Helper()
	return find(t, plan, "Deployment").Config.(*appsv1ac.DeploymentApplyConfiguration).Spec.Replicas
}

func TestReplicas(t *testing.T) {
	live := func(replicas int32, managers ...string) map[owned.Key]owned.Object {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		for _, m := range managers {
			d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: m, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
			})
		}
		return map[owned.Key]owned.Object{{Kind: "Deployment", Name: "web"}: d}
	}
	tests := map[string]struct {
		spec  *int32
		state observe.State
		want  *int32
	}{
		"default":                  {nil, observe.State{}, new(int32(1))},
		"requested for":            {new(int32(3)), observe.State{}, new(int32(3))},
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

// TestConfiguration: each spec results in its configuration, or in the reason and message that
// block it.
func TestConfiguration(t *testing.T) {
	good := nginxconf.Files{"site.conf": "server {}"}
	fromMap := &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}}
	tests := map[string]struct {
		config *v1alpha2.Config
		source *observe.Source
		live   nginxconf.Files
		// reason and message are what blocks the spec; empty: nothing.
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
			reason: v1alpha2.ReasonConfigInvalid, message: "created by the operator for NginxOperator web"},
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
			if (plan.Run.Config.Revision != "") != (tt.file != "") {
				t.Fatalf("the planned configuration is %+v", plan.Run.Config)
			}
			if !strings.Contains(plan.Run.Config.Files[tt.file], tt.text) {
				t.Errorf("%s = %q, want %q", tt.file, plan.Run.Config.Files[tt.file], tt.text)
			}
		})
	}
}

// rendered returns the live ConfigMaps of an application that serves files.
func rendered(t *testing.T, nginx *v1alpha2.NginxOperator, files nginxconf.Files) map[owned.Key]owned.Object {
	t.Helper()
	objects := map[owned.Key]owned.Object{}
	if files == nil {
		return objects
	}
	for _, name := range []string{naming.ConfigMap("web"), naming.ConfigMapNext("web")} {
		objects[owned.Key{Kind: "ConfigMap", Name: name}] = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:            name,
				Annotations:     map[string]string{naming.AnnotationConfig: nginxconf.Revision(files)},
				OwnerReferences: []metav1.OwnerReference{{UID: nginx.UID, Controller: new(true)}},
			},
			Data: maps.Clone(files),
		}
	}
	return objects
}

// TestTamperedConfigurationIsNotTakenForTheLastGoodOne: if the reference is missing, a modified
// ConfigMap does not count as the last good configuration.
func TestTamperedConfigurationIsNotTakenForTheLastGoodOne(t *testing.T) {
	nginx := sample(t, "least")
	nginx.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}}
	objects := rendered(t, nginx, nginxconf.Files{"old.conf": "old"})
	objects[owned.Key{Kind: "ConfigMap", Name: naming.ConfigMapNext("web")}].(*corev1.ConfigMap).Data["old.conf"] = "evil"
	plan, _ := build(t, nginx, observe.State{Source: &observe.Source{Name: "conf"}, Owned: objects})
	if plan.Run.Config.Revision != "" {
		t.Errorf("a tampered configuration was planned: %v", plan.Run.Config.Files)
	}
	if got := configOf(t, plan, naming.ConfigMapNext("web")).Data["old.conf"]; got != "old" {
		t.Errorf("the candidate holds %q, want what is stable", got)
	}
}

// TestTamperedStable: a user who edits the stable configuration does not change what it counts as.
func TestTamperedStable(t *testing.T) {
	for requested, want := range map[string]string{"old": "old", "new": "evil"} {
		nginx := sample(t, "least")
		nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(requested)}}
		state := observe.State{Owned: rendered(t, nginx, nginxconf.Files{"site.conf": "old"})}
		state.Owned[owned.Key{Kind: "ConfigMap", Name: "web-config"}].(*corev1.ConfigMap).Data["site.conf"] = "evil"
		plan, _ := build(t, nginx, state)
		state.Pods = []corev1.Pod{runningPod("a", plan)}
		state.Instances = map[string]*instanceapi.Status{"a": {Serving: nginxconf.Revision(nginxconf.Files{"site.conf": "old"})}}
		plan, _ = build(t, nginx, state)
		// The edit is reverted if the original files are available, and otherwise left. It never
		// counts as a revision of the operator.
		stable := configOf(t, plan, "web-config")
		if got := stable.Data["site.conf"]; got != want {
			t.Errorf("requested: %s, the stable configuration is %q, want %q", requested, got, want)
		}
		if got := stable.Annotations[naming.AnnotationConfig]; got != nginxconf.Revision(nginxconf.Files{"site.conf": "old"}) {
			t.Errorf("requested: %s, what was changed by hand counts as revision %s", requested, got)
		}
		if plan.Rollout.Lost != (requested == "new") {
			t.Errorf("requested: %s, lost = %t", requested, plan.Rollout.Lost)
		}
	}
}

func TestWithoutAConfigurationTheRestIsApplied(t *testing.T) {
	nginx := sample(t, "least")
	nginx.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}}
	plan, _ := build(t, nginx, observe.State{Source: &observe.Source{Name: "conf"}})
	var kinds []string
	for _, intent := range plan.Intents {
		kinds = append(kinds, intent.Kind.Name)
	}
	if diff := cmp.Diff([]string{"ServiceAccount", "Service", "PodDisruptionBudget", "NetworkPolicy", "Ingress"}, kinds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func configOf(t *testing.T, plan *plan, name string) *corev1ac.ConfigMapApplyConfiguration {
	t.Helper()
	for _, intent := range plan.Intents {
		if intent.Kind.Name == "ConfigMap" && intent.Name == name {
			return intent.Config.(*corev1ac.ConfigMapApplyConfiguration)
		}
	}
	t.Fatalf("there is no ConfigMap %s in the plan", name)
	return nil
}

func TestMissingContentBlocksAndKeepsThePlan(t *testing.T) {
	plan, blocked := build(t, sample(t, "least"), observe.State{MissingContent: []string{"pages"}})
	if plan == nil || blocked.Reason != v1alpha2.ReasonConfigMapNotFound || !strings.Contains(blocked.Message, "pages") {
		t.Errorf("plan = %v, blocked = %+v", plan != nil, blocked)
	}
}

// TestPodTemplateCannotWeaken: a hostile podTemplate that the schema allows does not weaken the
// pods.
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
		{template.Annotations[naming.AnnotationConfig], ""},
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
	for _, name := range []string{"least", "full"} {
		nginx := sample(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := planFor(revision.Input{Nginx: nginx, Options: options}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestConfigurationIsStableWhenItIsServed: a changed configuration is the candidate until the pods
// serve it.
func TestConfigurationIsStableWhenItIsServed(t *testing.T) {
	nginx := sample(t, "least")
	nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "new"}}
	first, _ := build(t, nginx, observe.State{})
	if got := configOf(t, first, "web-config").Data["site.conf"]; got != "new" {
		t.Errorf("the first configuration is stable at once, but %q is", got)
	}
	state := observe.State{Owned: rendered(t, nginx, nginxconf.Files{"site.conf": "old"})}
	state.Pods = []corev1.Pod{runningPod("a", first)}
	serve := func(config string) {
		state.Instances = map[string]*instanceapi.Status{"a": {Serving: config}}
	}
	serve(nginxconf.Revision(nginxconf.Files{"site.conf": "old"}))
	changing, _ := build(t, nginx, state)
	if stable, next := configOf(t, changing, "web-config"), configOf(t, changing, "web-config-next"); stable.Data["site.conf"] != "old" || next.Data["site.conf"] != "new" {
		t.Errorf("during the change stable is %v and next is %v", stable.Data, next.Data)
	}
	want := []revision.PodAnnotations{{Pod: "a", UID: "uid-a", Annotations: map[string]string{naming.AnnotationConfigTest: first.Run.Config.Revision}}}
	if diff := cmp.Diff(want, changing.PodAnnotations); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
	serve(first.Run.Config.Revision)
	done, _ := build(t, nginx, state)
	if got := configOf(t, done, "web-config").Data["site.conf"]; got != "new" {
		t.Errorf("all pods serve the new configuration, but %q is stable", got)
	}
}

// runningPod returns a ready pod of the template in a plan.
func runningPod(name string, plan *plan) corev1.Pod {
	var template *corev1ac.PodTemplateSpecApplyConfiguration
	for _, intent := range plan.Intents {
		if d, ok := intent.Config.(*appsv1ac.DeploymentApplyConfiguration); ok {
			template = d.Spec.Template
		}
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Annotations: maps.Clone(template.Annotations)},
		Status: corev1.PodStatus{
			PodIP:             "10.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: naming.NginxContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
}

// TestContentIsSynced: mounted files that have changed reach the pods at once.
func TestContentIsSynced(t *testing.T) {
	nginx := sample(t, "least")
	plan, _ := build(t, nginx, observe.State{})
	state := observe.State{Pods: []corev1.Pod{runningPod("a", plan)}, ContentVersions: []string{"pages/1/7"}}
	state.Instances = map[string]*instanceapi.Status{"a": {Serving: plan.Run.Config.Revision}}
	plan, _ = build(t, nginx, state)
	if len(plan.PodAnnotations) != 1 || plan.PodAnnotations[0].Annotations[naming.AnnotationSync] == "" {
		t.Fatalf("asks = %+v, want one with %s", plan.PodAnnotations, naming.AnnotationSync)
	}
	maps.Copy(state.Pods[0].Annotations, plan.PodAnnotations[0].Annotations)
	if plan, _ = build(t, nginx, state); len(plan.PodAnnotations) != 0 {
		t.Errorf("queried again: %+v", plan.PodAnnotations)
	}
	state.ContentVersions = []string{"pages/1/8"}
	if plan, _ = build(t, nginx, state); len(plan.PodAnnotations) != 1 {
		t.Errorf("asks after a change = %+v, want one", plan.PodAnnotations)
	}
}

// TestInstanceManagerIsKept: an upgraded operator does not restart pods to replace the instance
// manager.
func TestInstanceManagerIsKept(t *testing.T) {
	nginx := sample(t, "least")
	before, _ := build(t, nginx, observe.State{})
	template := find(t, before, "Deployment").Config.(*appsv1ac.DeploymentApplyConfiguration).Spec.Template
	live := &appsv1.Deployment{}
	live.Spec.Template.Annotations = template.Annotations
	live.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: naming.InstallContainer, Image: "operator:v1"}}
	state := observe.State{Owned: map[owned.Key]owned.Object{{Kind: "Deployment", Name: "web"}: live}}
	image := func() string {
		plan, _, err := planFor(revision.Input{Nginx: nginx, State: state, Options: revision.Options{DefaultImage: "nginx:default", InstanceImage: "operator:v2"}})
		if err != nil {
			t.Fatal(err)
		}
		return *find(t, plan, "Deployment").Config.(*appsv1ac.DeploymentApplyConfiguration).Spec.Template.Spec.InitContainers[0].Image
	}
	if got := image(); got != "operator:v1" {
		t.Errorf("the upgrade alone brings %s, which would restart every pod", got)
	}
	nginx.Spec.ForceRedeploy = new("now")
	if got := image(); got != "operator:v2" {
		t.Errorf("a rollout that the user causes brings %s", got)
	}
}
