package desired

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// simulation is an application with its environment: the API server, the Deployment controller and
// nodes. A tick is one pass of the operator, and then what the others do.
type simulation struct {
	// waitsFor is why no rollout may begin.
	waitsFor string
	t        *testing.T
	nginx    *v1alpha2.NginxOperator
	// stateful is set if the application runs as a StatefulSet, whose controller is then simulated.
	stateful *application.Stateful
	// before is the template that all pods of the StatefulSet had last.
	before  corev1.PodTemplateSpec
	options revision.Options
	now     time.Time
	records map[string]appsv1.ControllerRevision
	files   map[string]nginxconf.Files
	owned   map[owned.Key]owned.Object
	pods    []corev1.Pod
	// verdict is what is bad about canaries. If it is empty, evidence is their outcome, which is
	// good by default.
	verdict  string
	evidence canary.Outcome
	made     int
	// bad are the images that crash.
	bad map[string]bool
	// plan is the plan of the last pass.
	plan    *plan
	blocked revision.Blocked
}

func newSimulation(t *testing.T) *simulation {
	p := emptySimulation(t)
	p.settle()
	return p
}

// emptySimulation returns a simulation in which nothing has been created.
func emptySimulation(t *testing.T) *simulation {
	p := &simulation{
		t: t, nginx: sample(t, "least"), options: options, now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		records: map[string]appsv1.ControllerRevision{}, files: map[string]nginxconf.Files{},
		owned: map[owned.Key]owned.Object{}, bad: map[string]bool{},
	}
	p.nginx.Spec.Replicas, p.nginx.Spec.Image = new(int32(2)), new("nginx:1")
	return p
}

// settle ticks until everything has happened.
func (p *simulation) settle() {
	p.t.Helper()
	for range 60 {
		p.tick()
	}
	p.quiet()
}

// quiet fails the test if another pass would write something.
func (p *simulation) quiet() {
	p.t.Helper()
	before := p.template()
	p.tick()
	if len(p.plan.Records) > 0 {
		p.t.Errorf("it is settled, and records %+v", p.plan.Records[0].Revision)
	}
	if diff := cmp.Diff(before, p.template()); diff != "" {
		p.t.Errorf("it is settled, and the pods change:\n%s", diff)
	}
}

func (p *simulation) tick() {
	p.t.Helper()
	p.now = p.now.Add(time.Second)
	var err error
	if p.plan, p.blocked, err = planOf(p.application(), p.input()); err != nil {
		p.t.Fatal(err)
	}
	for _, r := range p.plan.Records {
		p.write(r)
	}
	for _, intent := range p.plan.Intents {
		object := intent.Kind.New()
		text, err := json.Marshal(intent.Fields)
		if err == nil {
			err = json.Unmarshal(text, object)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.owned[owned.Key{Kind: intent.Kind.Name, Name: intent.Name}] = object
	}
	if p.stateful != nil {
		p.controlStatefulSet()
	} else {
		p.control()
	}
}

func (p *simulation) application() *application.Application {
	app := application.Of(p.nginx)
	app.Stateful, app.Waits = p.stateful, p.waitsFor
	return app
}

// template returns the template of the pods.
func (p *simulation) template() corev1.PodTemplateSpec {
	if p.stateful != nil {
		return p.statefulSet().Spec.Template
	}
	return p.deployment().Spec.Template
}

func (p *simulation) write(r revision.Record) {
	name := r.Revision.Name
	if r.Delete {
		delete(p.records, name)
		return
	}
	cr := p.records[name]
	if cr.UID == "" {
		data, err := r.Revision.Data()
		if err != nil {
			p.t.Fatal(err)
		}
		p.files[name] = data.Config.Files
		cr = appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Data: runtime.RawExtension{Raw: r.Revision.Raw}}
	}
	cr.Revision, cr.Labels, cr.Annotations = r.Revision.Number, r.Revision.Labels(), r.Revision.Annotations()
	p.records[name] = cr
}

func (p *simulation) input() revision.Input {
	return revision.Input{Nginx: p.nginx, State: p.state(), Options: p.options, Now: p.now, Verdict: p.compare(), Waits: p.waitsFor, Invalid: p.application().Invalid}
}

func (p *simulation) state() observe.State {
	var records []appsv1.ControllerRevision
	for _, r := range p.records {
		records = append(records, r)
	}
	s := observe.State{Owned: p.owned, Pods: p.pods, Instances: map[string]*instanceapi.Status{}, History: history.Read(records),
		RecordedFiles: map[string]nginxconf.Files{}}
	for _, r := range observe.SelectableRevisions(p.application(), s.History) {
		s.RecordedFiles[r.Name] = p.files[r.Name]
	}
	for i := range p.pods {
		if observe.Ready(&p.pods[i]) {
			serving := s.Config(naming.ConfigMap("web")).Annotations[naming.AnnotationConfig]
			// What is requested is tested and loaded at once.
			if next := s.Config(naming.ConfigMapNext("web")); next != nil {
				serving = next.Annotations[naming.AnnotationConfig]
			}
			s.Instances[p.pods[i].Name] = &instanceapi.Status{Serving: serving, Stable: serving}
		}
	}
	return s
}

func outcomeOr(outcome canary.Outcome) canary.Outcome {
	if outcome == "" {
		return canary.Good
	}
	return outcome
}

// compare returns the verdict on the canaries.
func (p *simulation) compare() *canary.Verdict {
	if p.verdict != "" {
		return &canary.Verdict{Outcome: canary.Bad, Message: p.verdict}
	}
	return &canary.Verdict{Outcome: outcomeOr(p.evidence), Message: "compared"}
}

func (p *simulation) deployment() *appsv1.Deployment {
	d, _ := p.owned[owned.Key{Kind: "Deployment", Name: "web"}].(*appsv1.Deployment)
	return d
}

// control does what the Deployment controller and the nodes do within a second.
func (p *simulation) control() {
	d := p.deployment()
	replicas := int(ptr.Deref(d.Spec.Replicas, 1))
	old, fresh, available := p.sorted(d)
	switch {
	case d.Spec.Paused:
	case len(fresh) == 0 || len(old) == 0 && len(fresh) < replicas:
		fresh = append(fresh, p.newPod(d))
	case available < len(fresh):
	case len(fresh) == replicas:
		old = nil
	case len(fresh) < replicas:
		old, fresh = old[1:], append(fresh, p.newPod(d))
	}
	p.pods = append(old, fresh...)
	d.Status = appsv1.DeploymentStatus{Replicas: int32(len(p.pods)), UpdatedReplicas: int32(len(fresh))}
	if len(old) == 0 && available == replicas {
		d.Status.AvailableReplicas = int32(replicas)
	}
}

// sorted returns the pods of other templates, the pods of the Deployment's template, and how many
// of these are available.
func (p *simulation) sorted(d *appsv1.Deployment) (old, fresh []corev1.Pod, available int) {
	for _, pod := range p.pods {
		if observe.TemplateOf(&pod) != d.Spec.Template.Annotations[naming.AnnotationTemplate] {
			old = append(old, pod)
			continue
		}
		fresh = append(fresh, pod)
		if observe.Ready(&pod) && p.now.Sub(observe.ReadySince(&pod)) >= time.Duration(d.Spec.MinReadySeconds)*time.Second {
			available++
		}
	}
	return old, fresh, available
}

func (p *simulation) newPod(d *appsv1.Deployment) corev1.Pod {
	p.made++
	return p.podOf(fmt.Sprint("pod", p.made), d.Spec.Template)
}

// podOf returns a pod of a template, as it is a second after it was created.
func (p *simulation) podOf(name string, template corev1.PodTemplateSpec) corev1.Pod {
	image := template.Spec.Containers[0].Image
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(p.now), Annotations: template.Annotations,
	}}
	status := corev1.ContainerStatus{Name: naming.NginxContainer, ImageID: "registry.example.com/nginx@sha256:" + image}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.now)}
	if p.bad[image] {
		ready.Status, status.RestartCount = corev1.ConditionFalse, 1
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "no such module"}
	}
	pod.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{ready}, ContainerStatuses: []corev1.ContainerStatus{status}}
	return pod
}

// image returns the image that the workload runs.
func (p *simulation) image() string { return p.template().Spec.Containers[0].Image }

// log returns the history in short form: number, state and image.
func (p *simulation) log() string {
	var entries []string
	for _, r := range p.state().History {
		entries = append(entries, fmt.Sprintf("%d %s %s", r.Number, r.State, r.Image))
	}
	return strings.Join(entries, ", ")
}

func (p *simulation) expect(image, log string) {
	p.t.Helper()
	if p.image() != image || p.log() != log {
		p.t.Errorf("it runs %s, history: %s; want %s, %s", p.image(), p.log(), image, log)
	}
}

func TestGoodRollout(t *testing.T) {
	p := newSimulation(t)
	p.expect("nginx:1", "1 good nginx:1")
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	if got := p.deployment().Spec; got.MinReadySeconds == 0 || got.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("a serving pod may go before a new one has proven itself: %+v", got.Strategy.RollingUpdate)
	}
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
	if p.deployment().Spec.MinReadySeconds != 0 {
		t.Error("it is careful for ever")
	}
	r := p.state().History.Numbered(2)
	if r.ImageDigest != "sha256:nginx:2" || r.Cause != "image nginx:1 → nginx:2" || r.Config == "" || r.ServedAt.IsZero() {
		t.Errorf("the record lacks something: %+v", r)
	}
}

// TestLateDigest: an image digest that a pod reports after the revision became good is recorded,
// once.
func TestLateDigest(t *testing.T) {
	p := newSimulation(t)
	known := p.pods[0].Status.ContainerStatuses[0].ImageID
	for i := range p.pods {
		p.pods[i].Status.ContainerStatuses[0].ImageID = ""
	}
	for name, r := range p.records {
		delete(r.Annotations, naming.AnnotationImageDigest)
		p.records[name] = r
	}
	p.quiet()
	for i := range p.pods {
		p.pods[i].Status.ContainerStatuses[0].ImageID = known
	}
	p.tick()
	if got := p.state().History.Numbered(1).ImageDigest; got != "sha256:nginx:1" {
		t.Errorf("the record has the digest %q", got)
	}
	p.quiet()
}

func TestBadRollout(t *testing.T) {
	p := newSimulation(t)
	before := p.deployment().Spec.Template
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	if diff := cmp.Diff(before, p.deployment().Spec.Template); diff != "" {
		t.Errorf("it went back to something else:\n%s", diff)
	}
	if p.plan.Failure == nil || p.plan.RolledBackTo != 1 || !strings.Contains(p.plan.Failure.Message, "no such module") {
		t.Errorf("the selection reports %+v", p.plan.Failure)
	}
	made := p.made
	p.nginx.Spec.Replicas = new(int32(3))
	p.settle()
	if p.made != made+1 {
		t.Errorf("scaling made %d pods: it tried the bad image again", p.made-made)
	}
	p.bad = map[string]bool{}
	p.settle()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	p.nginx.Spec.ForceRedeploy = new("again")
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 3 good nginx:2")
}

func TestTakingABadChangeBack(t *testing.T) {
	p := newSimulation(t)
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.nginx.Spec.Image = new("nginx:1")
	p.settle()
	p.expect("nginx:1", "1 good nginx:1")
	if p.plan.Failure != nil {
		t.Errorf("it still reports %+v", p.plan.Failure)
	}
	p.bad = map[string]bool{}
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestAGoodRevisionCanFail: a revision that was good fails if its image is gone when it is
// requested again.
func TestAGoodRevisionCanFail(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.bad["nginx:1"] = true
	p.nginx.Spec.Image = new("nginx:1")
	p.settle()
	p.expect("nginx:2", "2 good nginx:2, 3 good nginx:1")
	if p.plan.Failure == nil || p.plan.RolledBackTo != 2 {
		t.Errorf("it reports %+v, and runs %d", p.plan.Failure, p.plan.RolledBackTo)
	}
	p.nginx.Spec.Image = new("nginx:3")
	p.settle()
	p.expect("nginx:3", "2 good nginx:2, 3 good nginx:1, 4 good nginx:3")
	if r := p.state().History.Numbered(3); r.RollingOutOrFailed() {
		t.Errorf("the failure of an attempt that is no longer requested is still recorded: %+v", r.Failure)
	}
}

// TestNoSurge: if no more pods than replicas are allowed, one pod is removed first. The API server
// rejects a strategy that allows neither more nor fewer pods.
func TestNoSurge(t *testing.T) {
	for name, zero := range map[string]intstr.IntOrString{"number": intstr.FromInt32(0), "percentage": intstr.FromString("0%")} {
		t.Run(name, func(t *testing.T) {
			inPlace := v1alpha2.Rollout{MaxSurge: &zero, MaxUnavailable: new(intstr.FromInt32(1))}
			possible := func(p *simulation, when string) {
				t.Helper()
				if got := p.deployment().Spec.Strategy.RollingUpdate; *got.MaxSurge == zero && got.MaxUnavailable.IntValue() == 0 {
					t.Errorf("%s, no pod may go, and none may come", when)
				}
			}
			p := newSimulation(t)
			p.nginx.Spec.Image = new("nginx:2")
			p.tick()
			p.nginx.Spec.Rollout = &inPlace
			p.tick()
			possible(p, "in the middle of a rollout")
			p.settle()

			inPlace.OnFailure = v1alpha2.OnFailureHold
			p.bad["nginx:3"] = true
			p.nginx.Spec.Image = new("nginx:3")
			p.settle()
			if !p.deployment().Spec.Paused {
				t.Error("a failed rollout is not held")
			}
			possible(p, "when a failed rollout is held")
		})
	}
}

func TestHold(t *testing.T) {
	p := newSimulation(t)
	p.bad["nginx:2"] = true
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 failed nginx:2")
	if !p.deployment().Spec.Paused || p.plan.RolledBackTo != 0 || p.plan.Failure == nil {
		t.Errorf("paused %t, back %d, failure %v", p.deployment().Spec.Paused, p.plan.RolledBackTo, p.plan.Failure)
	}
	p.nginx.Spec.Rollout = nil
	p.settle()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
}

// TestHoldFreezesTheConfiguration: a failed configuration reaches neither the pods that serve nor
// those that start.
func TestHoldFreezesTheConfiguration(t *testing.T) {
	p := newSimulation(t)
	p.bad["nginx:2"] = true
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}
	p.nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": "# failed"}}
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	if got := p.owned[owned.Key{Kind: "ConfigMap", Name: "web-config"}].(*corev1.ConfigMap).Data["a.conf"]; got == "# failed" {
		t.Error("pods start with what has failed")
	}
	if len(p.plan.PodAnnotations) > 0 || len(p.plan.Orders) > 0 {
		t.Errorf("pods are asked for it: %+v", p.plan.PodAnnotations)
	}
	if got := p.deployment().Spec; got.MinReadySeconds < 1<<30 {
		t.Errorf("new pods become available after %d s, and old ones are taken away", got.MinReadySeconds)
	}
}

// TestCorrectionDuringACanary: the pods that serve are the last to be removed.
func TestCorrectionDuringACanary(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(20))}}
	p.settle()
	good := p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate]
	p.nginx.Spec.Image = new("nginx:2")
	for range 8 {
		p.tick()
	}
	p.nginx.Spec.Image = new("nginx:3")
	p.tick()
	if got := p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate]; got != good {
		t.Errorf("the next rollout begins while pods of the one that was given up are there: %s", got)
	}
	if p.plan.Mode != revision.InterimRollback || len(p.plan.Leftovers) == 0 {
		t.Errorf("what it waits for is not reported: %s, %v", p.plan.Mode, p.plan.Leftovers)
	}
	p.settle()
	p.expect("nginx:3", "1 good nginx:1, 3 good nginx:3")
}

// TestTakingACanaryBack: the canary is removed at once, without an analysis of the pods that were
// there before.
func TestTakingACanaryBack(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(20))}}
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	for range 8 {
		p.tick()
	}
	p.nginx.Spec.Image = new("nginx:1")
	p.tick()
	if got := p.deployment().Spec; got.MinReadySeconds != 0 || p.plan.CanaryAnalysis != nil {
		t.Errorf("the previous pods are analyzed: minReadySeconds %d, analysis %+v", got.MinReadySeconds, p.plan.CanaryAnalysis)
	}
	p.settle()
	p.expect("nginx:1", "3 good nginx:1")
}

// TestConfigurationDuringARollout: a configuration revision other than the candidate becomes good.
func TestConfigurationDuringARollout(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Image = new("nginx:2")
	for range 3 {
		p.tick()
	}
	p.nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": "# other"}}
	p.settle()
	for _, r := range p.state().History {
		if r.RollingOutOrFailed() {
			t.Errorf("the rollout is over, and its revision %d is at %s", r.Number, r.Stage)
		}
	}
	// What happens to pods from now on is not a failure of the rollout.
	p.pods[0].Status.Conditions[0].Status = corev1.ConditionFalse
	p.pods[0].Status.ContainerStatuses[0].RestartCount = 2
	p.pods[0].Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	p.tick()
	p.tick()
	if p.image() != "nginx:2" || p.plan.Failure != nil {
		t.Errorf("it runs %s: %+v", p.image(), p.plan.Failure)
	}
}

func TestAnotherClock(t *testing.T) {
	p := newSimulation(t)
	for name, r := range p.records {
		r.Annotations[naming.AnnotationServedAt] = p.now.Add(time.Hour).Format(time.RFC3339)
		p.records[name] = r
	}
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestClockIsPutBack: a rollout that began before the operator's clock was put back by an hour begins anew by that clock, so its
// deadlines are not an hour late.
func TestClockIsPutBack(t *testing.T) {
	p := newSimulation(t)
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	began := func(change func(map[string]string)) (times []time.Time) {
		for _, r := range p.records {
			if r.Annotations[naming.AnnotationStage] == "" {
				continue
			}
			change(r.Annotations)
			at, err := time.Parse(time.RFC3339Nano, r.Annotations[naming.AnnotationStartedAt])
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, at)
		}
		return times
	}
	began(func(annotations map[string]string) {
		annotations[naming.AnnotationStartedAt] = p.now.Add(time.Hour).Format(time.RFC3339Nano)
	})
	p.tick()
	if times := began(func(map[string]string) {}); len(times) != 1 || times[0].After(p.now) {
		t.Errorf("rollouts began at %v, and it is %s", times, p.now)
	}
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestEquivalentSpec: another release does not take an equivalent spec for another declaration.
func TestEquivalentSpec(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Ports = []v1alpha2.Port{{Name: "http", Port: 80, Protocol: "TCP"}}
	p.settle()
	made := p.made
	p.options = revision.Options{DefaultImage: "nginx:other", InstanceImage: "operator:other"}
	p.settle()
	if p.made != made {
		t.Errorf("another release made %d pods", p.made-made)
	}
}

func TestNothingToGoBackTo(t *testing.T) {
	p := &simulation{t: t, nginx: sample(t, "least"), options: options, now: time.Now(), records: map[string]appsv1.ControllerRevision{},
		files: map[string]nginxconf.Files{}, owned: map[owned.Key]owned.Object{}, bad: map[string]bool{"nginx:1": true}}
	p.nginx.Spec.Image = new("nginx:1")
	p.settle()
	p.expect("nginx:1", "1 candidate nginx:1")
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.expect("nginx:2", "2 good nginx:2")
}

func TestRevisionOfTheHistory(t *testing.T) {
	p := newSimulation(t)
	for _, image := range []string{"nginx:2", "nginx:3"} {
		p.nginx.Spec.Image = &image
		p.nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": v1alpha2.ConfigFile("# " + image)}}
		p.nginx.Spec.Ports = []v1alpha2.Port{{Name: "of-" + image[6:], Port: 80, Protocol: "TCP"}}
		p.settle()
	}
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(2))}
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2, 3 good nginx:3")
	if got := p.owned[owned.Key{Kind: "ConfigMap", Name: "web-config"}].(*corev1.ConfigMap).Data["a.conf"]; got != "# nginx:2" {
		t.Errorf("pods start with %q", got)
	}
	if got := p.owned[owned.Key{Kind: "Service", Name: "web"}].(*corev1.Service).Spec.Ports[0].Name; got != "of-2" {
		t.Errorf("the Service has port %s", got)
	}
	if p.plan.PinnedTo != 2 || p.plan.Failure != nil {
		t.Error("it is not what the spec asks for")
	}
	p.nginx.Spec.Rollout.ToRevision = new(int64(9))
	p.settle()
	if p.blocked.Reason != v1alpha2.ReasonRevisionNotFound || p.image() != "nginx:2" {
		t.Errorf("a revision that does not exist: %+v, it runs %s", p.blocked, p.image())
	}
	p.nginx.Spec.Rollout = nil
	p.settle()
	p.expect("nginx:3", "1 good nginx:1, 2 good nginx:2, 4 good nginx:3")
}

func TestOperatorUpgradeLeavesThePodsAlone(t *testing.T) {
	for name, prepare := range map[string]func(*simulation){
		"settled": func(*simulation) {},
		"rolled back": func(p *simulation) {
			p.bad["nginx:2"] = true
			p.nginx.Spec.Image = new("nginx:2")
		},
		"held": func(p *simulation) {
			p.bad["nginx:2"] = true
			p.nginx.Spec.Image, p.nginx.Spec.Rollout = new("nginx:2"), &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}
		},
		"the default image": func(p *simulation) { p.nginx.Spec.Image = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			prepare(p)
			p.settle()
			made, log := p.made, p.log()
			p.options = revision.Options{DefaultImage: "nginx:other", InstanceImage: "operator:other"}
			p.settle()
			if p.made != made || p.log() != log {
				t.Errorf("another release made %d pods, history: %s, before %s", p.made-made, p.log(), log)
			}
			p.nginx.Spec.Image, p.nginx.Spec.Rollout = new("nginx:3"), nil
			p.settle()
			if got := p.deployment().Spec.Template.Spec.InitContainers[0].Image; got != "operator:other" {
				t.Errorf("a rollout that the user causes brings %s", got)
			}
		})
	}
}

func TestHistoryIsLimited(t *testing.T) {
	p := newSimulation(t)
	for i := range 15 {
		p.nginx.Spec.Image = new(fmt.Sprint("nginx:", i+2))
		p.settle()
	}
	if h := p.state().History; len(h) != history.Limit || h[0].Number != 7 {
		t.Errorf("the history: %s", p.log())
	}
}

func TestCanaryRollout(t *testing.T) {
	for verdict, want := range map[string]string{"": "nginx:2", "14 % errors": "nginx:1"} {
		p := newSimulation(t)
		p.nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(20))}}
		p.settle()
		p.nginx.Spec.Image = new("nginx:2")
		for range 10 {
			p.tick()
		}
		if n := len(p.pods); n != 3 || p.plan.CanaryAnalysis == nil || len(p.plan.CanaryAnalysis.Others) != 2 {
			t.Fatalf("after 10 s: %d pods, analysis %+v", n, p.plan.CanaryAnalysis)
		}
		p.verdict = verdict
		p.tick()
		p.verdict = ""
		p.settle()
		if p.image() != want || p.deployment().Spec.MinReadySeconds != 0 {
			t.Errorf("with the verdict %q it runs %s; %s", verdict, p.image(), p.log())
		}
	}
}

// TestRetry: a failed rollout is retried after each delay, as often as declared.
func TestRetry(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Retry: &v1alpha2.RolloutRetry{
		Limit: new(int32(2)), Backoff: &v1alpha2.RetryBackoff{InitialSeconds: new(int32(100)), Factor: new(int32(3))}}}
	p.settle()
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	begins := p.begins("nginx:2", 700)
	if len(begins) != 3 || begins[1]-begins[0] < 100 || begins[1]-begins[0] > 110 || begins[2]-begins[1] < 300 || begins[2]-begins[1] > 310 {
		t.Errorf("it was tried after %v seconds", begins)
	}
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	p.quiet()
	p.nginx.Spec.ForceRedeploy = new("again")
	p.tick()
	p.tick()
	if p.image() != "nginx:2" {
		t.Error("another attempt has no retries of its own")
	}
	p.bad = map[string]bool{}
	for range 130 {
		p.tick()
	}
	p.expect("nginx:2", "1 good nginx:1, 3 good nginx:2")
	if r := p.state().History.Numbered(3); r.Failures != (history.Failures{}) {
		t.Errorf("it is good, and remembers %+v", r.Failures)
	}
}

// begins returns the seconds at which an image is tried. Two retries are declared.
func (p *simulation) begins(image string, seconds int) []int {
	p.t.Helper()
	var begins []int
	was := p.image()
	for second := range seconds {
		p.tick()
		if p.image() != was && p.image() == image {
			begins = append(begins, second)
		}
		was = p.image()
		if r := p.plan.Retry; r != nil && (p.plan.Failure == nil || r.Limit != 2 || r.Number != len(begins) || p.plan.RequeueAfter <= 0 || !r.At.After(p.now)) {
			p.t.Fatalf("at %d s the selection reports %+v, and the next pass is after %s", second, r, p.plan.RequeueAfter)
		}
	}
	return begins
}

// TestNoRetry: nothing is retried without a declaration, or while a failed rollout is held.
func TestNoRetry(t *testing.T) {
	for name, rollout := range map[string]*v1alpha2.Rollout{
		"unset": nil,
		"held":  {OnFailure: v1alpha2.OnFailureHold, Retry: &v1alpha2.RolloutRetry{Backoff: &v1alpha2.RetryBackoff{InitialSeconds: new(int32(1))}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			p.nginx.Spec.Rollout = rollout
			p.settle()
			p.bad["nginx:2"] = true
			p.nginx.Spec.Image = new("nginx:2")
			p.settle()
			made := p.made
			p.settle()
			p.settle()
			if p.made != made || p.plan.Retry != nil {
				t.Errorf("%d more pods were made", p.made-made)
			}
		})
	}
}

// TestRollbackSkipsTheCanary: a revision that has served is rolled out without a canary, unless
// requested otherwise.
func TestRollbackSkipsTheCanary(t *testing.T) {
	for on, canaries := range map[*v1alpha2.OnRollback]bool{nil: false, new(v1alpha2.OnRollbackSkip): false, new(v1alpha2.OnRollbackRun): true} {
		p := newSimulation(t)
		p.nginx.Spec.Image = new("nginx:2")
		p.settle()
		p.nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1)), Canary: &v1alpha2.Canary{DurationSeconds: new(int32(30)), OnRollback: on}}
		compared := false
		for range 100 {
			p.tick()
			compared = compared || len(p.plan.Step.AnalyzeAgain) > 0 || p.plan.CanaryAnalysis != nil
		}
		if p.image() != "nginx:1" || compared != canaries {
			t.Errorf("onRollback %q: it runs %s, canaries: %t", ptr.Deref(on, ""), p.image(), compared)
		}
	}
}

// TestCanaryWithoutEvidence: a canary without evidence waits until the deadline and then fails.
func TestCanaryWithoutEvidence(t *testing.T) {
	p := newSimulation(t)
	p.evidence = canary.Undecided
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{ProgressDeadlineSeconds: new(int32(60)), Canary: &v1alpha2.Canary{DurationSeconds: new(int32(30))}}
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	for range 80 {
		p.tick()
	}
	if len(p.plan.Step.AnalyzeAgain) == 0 || p.image() != "nginx:2" {
		t.Errorf("it does not wait: %s, %+v", p.image(), p.plan.Step)
	}
	for range 40 {
		p.tick()
	}
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	if f := p.plan.Failure; f == nil || f.Reason != v1alpha2.ReasonCanaryFailed || !strings.Contains(f.Message, "no evidence") {
		t.Errorf("it reports %+v", f)
	}
}

// TestNeverServedGetsOtherSettings: an application that has never served gets the template of an operator with other
// settings. One that serves keeps its own.
func TestNeverServedGetsOtherSettings(t *testing.T) {
	for name, works := range map[string]bool{"fails": false, "serves": true} {
		t.Run(name, func(t *testing.T) {
			p := emptySimulation(t)
			p.bad["nginx:1"] = !works
			p.settle()
			p.options.Pods.ImagePullSecrets = []string{"registry"}
			p.bad = nil
			p.settle()
			if got := len(p.template().Spec.ImagePullSecrets) > 0; got == works {
				t.Errorf("the pull secrets are %v", p.template().Spec.ImagePullSecrets)
			}
		})
	}
}
