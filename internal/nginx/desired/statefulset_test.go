package desired

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/golden"
)

func stateful() *application.Stateful {
	claim := corev1ac.PersistentVolumeClaim("data", "").WithSpec(corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")})))
	return &application.Stateful{Headless: true, Claims: []*corev1ac.PersistentVolumeClaimApplyConfiguration{claim}, DeleteClaimsWhenScaled: true}
}

// TestGoldenStatefulSet: an application whose pods have storage of their own has a StatefulSet and a headless Service
// in place of a Deployment and a Service with an address, and the same objects otherwise.
func TestGoldenStatefulSet(t *testing.T) {
	nginx := sample(t, "least")
	app := application.Of(nginx)
	app.Stateful = stateful()
	plan, _, err := planOf(app, revision.Input{Nginx: nginx, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, intent := range plan.Intents {
		kinds = append(kinds, intent.Kind.Name)
		if intent.Kind.Name != "StatefulSet" && intent.Kind.Name != "Service" {
			continue
		}
		text, err := yaml.Marshal(intent.Fields)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", "stateful", strings.ToLower(intent.Kind.Name)+".yaml"), string(text))
	}
	if slices.Contains(kinds, "Deployment") {
		t.Errorf("the objects are %v", kinds)
	}
}

// TestPodServices: each pod has a Service of its own, which stays as long as the pod.
func TestPodServices(t *testing.T) {
	names := func(p *simulation) (wanted, unwanted []string) {
		for _, intent := range p.plan.Intents {
			switch {
			case intent.Kind.Name != "Service" || intent.Name == "web":
			case intent.ShouldExist():
				wanted = append(wanted, intent.Name)
			default:
				unwanted = append(unwanted, intent.Name)
				delete(p.owned, intent.Key())
			}
		}
		return wanted, unwanted
	}
	p := newStatefulSimulation(t, 2)
	p.stateful.PodServices = true
	p.tick()
	if wanted, _ := names(p); !slices.Equal(wanted, []string{"web-0", "web-1"}) {
		t.Errorf("the Services are %v", wanted)
	}
	service := p.owned[owned.Key{Kind: "Service", Name: "web-1"}].(*corev1.Service)
	if diff := gocmp.Diff(map[string]string{naming.LabelApplication: "web", appsv1.StatefulSetPodNameLabel: "web-1"}, service.Spec.Selector); diff != "" {
		t.Error(diff)
	}
	p.nginx.Spec.Replicas = new(int32(1))
	p.tick()
	if wanted, _ := names(p); !slices.Equal(wanted, []string{"web-0", "web-1"}) {
		t.Errorf("the pod still serves, and the Services are %v", wanted)
	}
	p.tick()
	if wanted, unwanted := names(p); !slices.Equal(wanted, []string{"web-0"}) || !slices.Equal(unwanted, []string{"web-1"}) {
		t.Errorf("the pod is gone, and the Services are %v, without %v", wanted, unwanted)
	}
}

func newStatefulSimulation(t *testing.T, replicas int32) *simulation {
	p := &simulation{
		t: t, nginx: sample(t, "least"), stateful: stateful(), options: options, now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		records: map[string]appsv1.ControllerRevision{}, files: map[string]nginxconf.Files{},
		owned: map[owned.Key]owned.Object{}, bad: map[string]bool{},
	}
	p.nginx.Spec.Replicas, p.nginx.Spec.Image = new(replicas), new("nginx:1")
	p.settle()
	return p
}

func (p *simulation) statefulSet() *appsv1.StatefulSet {
	s, _ := p.owned[owned.Key{Kind: "StatefulSet", Name: "web"}].(*appsv1.StatefulSet)
	return s
}

// controlStatefulSet does what the StatefulSet controller and the nodes do within a second: it creates all pods that
// are missing, replaces unavailable pods of another template first, and then the one with the highest ordinal.
func (p *simulation) controlStatefulSet() {
	s := p.statefulSet()
	replicas, partition := int(ptr.Deref(s.Spec.Replicas, 1)), int(*s.Spec.UpdateStrategy.RollingUpdate.Partition)
	p.pods = slices.DeleteFunc(p.pods, func(pod corev1.Pod) bool { return ordinal(pod) >= replicas })
	for n := range replicas {
		if !slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool { return ordinal(pod) == n }) {
			p.pods = append(p.pods, p.podOf(fmt.Sprint("web-", n), p.templateOf(n, partition)))
		}
	}
	slices.SortFunc(p.pods, func(a, b corev1.Pod) int { return cmp.Compare(ordinal(b), ordinal(a)) })
	var old, unavailable []corev1.Pod
	updated, ready := int32(0), int32(0)
	for _, pod := range p.pods {
		isOld := observe.TemplateOf(&pod) != s.Spec.Template.Annotations[naming.AnnotationTemplate]
		if observe.Ready(&pod) {
			ready++
		} else {
			unavailable = append(unavailable, pod)
		}
		if !isOld {
			updated++
		} else if ordinal(pod) >= partition {
			old = append(old, pod)
		}
	}
	if int(updated) == len(p.pods) {
		p.before = s.Spec.Template
	}
	s.Status = appsv1.StatefulSetStatus{Replicas: int32(len(p.pods)), ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: updated}
	for _, pod := range old {
		if len(unavailable) == 0 || !observe.Ready(&pod) {
			p.pods = slices.DeleteFunc(p.pods, func(other corev1.Pod) bool { return other.Name == pod.Name })
			return
		}
	}
}

// templateOf returns the template of a pod that is created.
func (p *simulation) templateOf(ordinal, partition int) corev1.PodTemplateSpec {
	if ordinal < partition && p.before.Annotations != nil {
		return p.before
	}
	return p.statefulSet().Spec.Template
}

func ordinal(pod corev1.Pod) int {
	var n int
	if _, err := fmt.Sscanf(pod.Name, "web-%d", &n); err != nil {
		panic(err)
	}
	return n
}

// count returns how many pods run an image.
func (p *simulation) count(template string) (n int) {
	for _, pod := range p.pods {
		if observe.TemplateOf(&pod) == template {
			n++
		}
	}
	return n
}

// TestStatefulRollout: the pod with the highest ordinal proves the template, and then the others follow in order.
func TestStatefulRollout(t *testing.T) {
	p := newStatefulSimulation(t, 4)
	p.expect("nginx:1", "1 good nginx:1")
	p.nginx.Spec.Image = new("nginx:2")
	proving := 0
	for range 60 {
		p.tick()
		if n := p.count(p.template().Annotations[naming.AnnotationTemplate]); n == 1 && *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition == 3 {
			proving++
		}
	}
	if proving < 5 {
		t.Errorf("one pod ran alone for %d seconds, want at least 5", proving)
	}
	p.quiet()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
	if got := *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition; got != 0 {
		t.Errorf("at rest the partition is %d, so a pod that is created again would get an older template", got)
	}
}

// TestStatefulRollback: a template whose first pod crashes reaches no other pod, and that pod returns to the last good
// one.
func TestStatefulRollback(t *testing.T) {
	p := newStatefulSimulation(t, 4)
	p.bad["nginx:bad"] = true
	p.nginx.Spec.Image = new("nginx:bad")
	for range 60 {
		p.tick()
		if n := p.count(p.template().Annotations[naming.AnnotationTemplate]); p.image() == "nginx:bad" && n > 1 {
			t.Fatalf("%d pods run the bad image", n)
		}
	}
	p.quiet()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:bad")
	if p.plan.RolledBackTo != 1 || p.count(p.template().Annotations[naming.AnnotationTemplate]) != 4 {
		t.Errorf("rolled back to %d, with %d pods of it", p.plan.RolledBackTo, p.count(p.template().Annotations[naming.AnnotationTemplate]))
	}
}

// TestStatefulHeld: a rollout that failed and is held replaces no further pod, whichever is created again.
func TestStatefulHeld(t *testing.T) {
	p := newStatefulSimulation(t, 3)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}
	p.settle()
	p.bad["nginx:bad"] = true
	p.nginx.Spec.Image = new("nginx:bad")
	p.settle()
	if got := *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition; got != 3 || p.count(p.template().Annotations[naming.AnnotationTemplate]) != 1 {
		t.Errorf("the partition is %d, and %d pods run the bad image", got, p.count(p.template().Annotations[naming.AnnotationTemplate]))
	}
}

// TestStatefulScaleUp: pods that are added while a rollout proves itself, or is held, do not get its template.
func TestStatefulScaleUp(t *testing.T) {
	for name, onFailure := range map[string]v1alpha2.OnFailure{"proving": "", "held": v1alpha2.OnFailureHold} {
		p := newStatefulSimulation(t, 2)
		p.nginx.Spec.Rollout = &v1alpha2.Rollout{OnFailure: onFailure}
		p.settle()
		p.bad["nginx:bad"] = onFailure != ""
		p.nginx.Spec.Image = new("nginx:bad")
		p.tick()
		if onFailure != "" {
			p.settle()
		}
		p.nginx.Spec.Replicas = new(int32(5))
		p.tick()
		if got := *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition; got < 4 {
			t.Errorf("%s: with 5 pods instead of 2, the partition is %d", name, got)
		}
	}
}

// TestStatefulStall: a rollout of which a later pod never becomes ready fails after its deadline. The StatefulSet
// controller reports nothing of the kind.
func TestStatefulStall(t *testing.T) {
	p := newStatefulSimulation(t, 3)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{ProgressDeadlineSeconds: new(int32(20))}
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	for range 60 {
		p.tick()
		for i := range p.pods {
			if ordinal(p.pods[i]) == 1 && p.pods[i].Annotations[naming.AnnotationTemplate] == p.template().Annotations[naming.AnnotationTemplate] && p.image() == "nginx:2" {
				p.pods[i].Status.Conditions[0].Status = corev1.ConditionFalse
			}
		}
	}
	p.quiet()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	if p.plan.Failure == nil || p.plan.Failure.Reason != v1alpha2.ReasonProgressDeadlineExceeded {
		t.Errorf("it failed: %+v", p.plan.Failure)
	}
}

// TestClaimsFollowAtRest: the templates of claims change only while nothing rolls out, because the StatefulSet has to be
// created again for it. A class that is no longer declared stays.
func TestClaimsFollowAtRest(t *testing.T) {
	p := newStatefulSimulation(t, 3)
	requested := func() (size, class string) {
		for _, intent := range p.plan.Intents {
			if intent.Kind.Name == "StatefulSet" {
				claim := intent.Config.(*appsv1ac.StatefulSetApplyConfiguration).Spec.VolumeClaimTemplates[0]
				return claim.Spec.Resources.Requests.Storage().String(), ptr.Deref(claim.Spec.StorageClassName, "")
			}
		}
		return "", ""
	}
	before, class := requested()
	larger := corev1ac.PersistentVolumeClaim(*p.stateful.Claims[0].Name, "").WithSpec(corev1ac.PersistentVolumeClaimSpec().
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("99Gi")})))
	p.stateful.Claims = []*corev1ac.PersistentVolumeClaimApplyConfiguration{larger}
	p.nginx.Spec.Image = new("nginx:2")
	rolling := 0
	for range 60 {
		p.tick()
		if p.plan.Began == nil {
			continue
		}
		rolling++
		if size, _ := requested(); size != before {
			t.Fatalf("during a rollout, a new claim requests %s instead of %s", size, before)
		}
	}
	if size, now := requested(); rolling == 0 || size != "99Gi" || now != class {
		t.Errorf("at rest, a new claim requests %s of class %q, before %s of class %q", size, now, before, class)
	}
}
