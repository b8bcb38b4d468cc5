package desired

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// TestPortsDuringARollout: the Service always has endpoints, whatever happens to the ports and the
// rollout.
func TestPortsDuringARollout(t *testing.T) {
	port := func(name string, number int32) v1alpha2.Port {
		return v1alpha2.Port{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
	}
	for name, tt := range map[string]struct {
		before, after []v1alpha2.Port
		bad, hold     bool
		// during is the Service's first port while pods are replaced, and target is its target
		// port.
		during v1alpha2.Port
		target intstr.IntOrString
	}{
		"renamed":             {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 80)}, false, false, port("http", 80), intstr.FromInt32(80)},
		"renamed, and fails":  {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 80)}, true, false, port("http", 80), intstr.FromInt32(80)},
		"renamed, and held":   {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 80)}, true, true, port("http", 80), intstr.FromInt32(80)},
		"another number":      {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("http", 8080)}, false, false, port("http", 80), intstr.FromString("http")},
		"renamed, and moved":  {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 8080)}, false, false, port("http", 80), intstr.FromString("http")},
		"one comes":           {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("http", 80), port("admin", 81)}, false, false, port("http", 80), intstr.FromString("http")},
		"names are exchanged": {[]v1alpha2.Port{port("a", 80), port("b", 81)}, []v1alpha2.Port{port("a", 81), port("b", 80)}, false, false, port("a", 80), intstr.FromString("a")},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			if tt.hold {
				p.nginx.Spec.Rollout = &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}
			}
			p.nginx.Spec.Ports = tt.before
			p.settle()
			first := p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate]

			p.nginx.Spec.Ports, p.nginx.Spec.Image = tt.after, new("nginx:2")
			p.bad["nginx:2"] = tt.bad
			p.whilePodsAreOf(first, func() {
				got := p.service().Spec.Ports[0]
				if got.Name != tt.during.Name || got.Port != tt.during.Port {
					t.Fatalf("the Service has port %+v while pods have %+v", got, tt.during)
				}
				if last := p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate]; last != first && got.TargetPort != tt.target {
					t.Fatalf("it leads to %s, and not to %s", got.TargetPort.String(), tt.target.String())
				}
			})
			p.settle()
			want := tt.after
			if tt.bad {
				want = tt.before
			}
			if got := p.service().Spec.Ports; len(got) != len(want) || got[0].Name != want[0].Name || got[0].Port != want[0].Port {
				t.Errorf("in the end it has %+v, want %+v", got, want)
			}
			if p.plan.KeepsPorts != tt.hold {
				t.Errorf("it keeps the ports of pods that are replaced: %t", p.plan.KeepsPorts)
			}
		})
	}
}

// TestPortsAndAnOldViewOfPods: an operator that starts with a view of the pods from before a
// rollout does not remove the ports of the current pods from the Service.
func TestPortsAndAnOldViewOfPods(t *testing.T) {
	p := newSimulation(t)
	p.settle()
	before := slices.Clone(p.pods)
	p.nginx.Spec.Ports = []v1alpha2.Port{{Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP}}
	p.settle()
	want := p.service().Spec.Ports
	if len(want) != 1 || want[0].Name != "web" {
		t.Fatalf("the Service has %+v", want)
	}
	p.pods = before
	p.tick()
	if diff := cmp.Diff(want, p.service().Spec.Ports); diff != "" {
		t.Errorf("-ports of the Service before +on an old view of the pods:\n%s", diff)
	}
}

// TestPortsWhenPodsAreLost: if the Service got the ports of a rollout too early, it gets back the
// ports that the pods serve.
func TestPortsWhenPodsAreLost(t *testing.T) {
	p := newSimulation(t)
	p.settle()
	before := slices.Clone(p.pods)
	p.nginx.Spec.Ports, p.nginx.Spec.Image = []v1alpha2.Port{{Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP}}, new("nginx:2")
	p.bad["nginx:2"] = true
	p.tick()
	p.pods = nil
	p.tick()
	if got := p.service().Spec.Ports[0].Name; got != "web" {
		t.Fatalf("without pods the Service has the port %s", got)
	}
	p.pods = before
	p.tick()
	if got := p.service().Spec.Ports[0].Name; got != "http" {
		t.Errorf("the Service has the port %s, which no pod has that is ready", got)
	}
}

// TestPortsWhileGoingBack: the pods of an abandoned revision serve as long as they exist, whether
// or not the revision was ever good.
func TestPortsWhileGoingBack(t *testing.T) {
	for name, good := range map[string]bool{"to what was good before": true, "to what has never been good": false} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			p.settle()
			before, first := p.nginx.Spec, slices.Clone(p.pods)
			p.nginx.Spec.Ports, p.nginx.Spec.Image = []v1alpha2.Port{{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}}, new("nginx:2")
			after := p.nginx.Spec
			if good {
				p.settle()
				p.nginx.Spec = before
				p.settle()
				p.nginx.Spec = after
				first = slices.Clone(p.pods)
			}
			template := observe.TemplateOf(&first[0])
			p.whilePodsAreOf(template, func() {})
			// All pods are of the second template, which the history does not show yet.
			p.nginx.Spec = before
			for len(p.pods) > 0 && !slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool { return observe.TemplateOf(&pod) == template }) {
				p.tick()
				if got := p.service().Spec.Ports[0].TargetPort; got.IntValue() != 80 && got.StrVal != "web" {
					t.Fatalf("the Service leads to %s, which the pods do not have", got.String())
				}
			}
		})
	}
}

// whilePodsAreOf calls check each second while there are pods of a template, for at most a minute.
func (p *simulation) whilePodsAreOf(template string, check func()) {
	p.t.Helper()
	for range 60 {
		p.tick()
		if !slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool { return observe.TemplateOf(&pod) == template }) {
			return
		}
		check()
	}
}

func (p *simulation) service() *corev1.Service {
	p.t.Helper()
	service, ok := p.owned[owned.Key{Kind: "Service", Name: "web"}].(*corev1.Service)
	if !ok {
		p.t.Fatal("there is no Service")
	}
	return service
}

// TestRecreatesService: a Service is created again only for what the API server does not let change.
func TestRecreatesService(t *testing.T) {
	spec := func(clusterIP string, families ...any) map[string]any {
		spec := map[string]any{}
		if clusterIP != "" {
			spec["clusterIP"] = clusterIP
		}
		if len(families) > 0 {
			spec["ipFamilies"] = families
		}
		return map[string]any{"spec": spec}
	}
	for name, tt := range map[string]struct {
		want, live map[string]any
		recreate   bool
	}{
		"nothing declared":       {spec(""), spec("10.0.0.1", "IPv4"), false},
		"becomes headless":       {spec("None"), spec("10.0.0.1", "IPv4"), true},
		"is headless":            {spec("None"), spec("None", "IPv4"), false},
		"is no longer headless":  {spec(""), spec("None", "IPv4"), true},
		"a second family":        {spec("", "IPv4", "IPv6"), spec("10.0.0.1", "IPv4"), false},
		"one family fewer":       {spec("", "IPv4"), spec("10.0.0.1", "IPv4", "IPv6"), false},
		"another first family":   {spec("", "IPv6", "IPv4"), spec("10.0.0.1", "IPv4", "IPv6"), true},
		"only the second family": {spec("", "IPv6"), spec("10.0.0.1", "IPv4", "IPv6"), true},
	} {
		if got := recreatesService(tt.want, tt.live, nil); got != tt.recreate {
			t.Errorf("%s: %t", name, got)
		}
	}
}
