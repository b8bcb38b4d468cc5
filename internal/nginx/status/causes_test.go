package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// serviceOf adds a Service to the application, with the addresses of its load balancer.
func serviceOf(kind corev1.ServiceType, addresses ...string) func(*Input) {
	return func(in *Input) {
		service := &corev1.Service{}
		service.Name, service.Spec.Type = "web", kind
		for _, a := range addresses {
			service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
		}
		in.State.Owned[owned.Key{Kind: "Service", Name: "web"}] = service
	}
}

// TestLoadBalancerWithoutAddress: the application is ready, and reports that the Service cannot be
// reached yet.
func TestLoadBalancerWithoutAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Input)
		hint   bool
	}{
		"it has none yet":     {serviceOf(corev1.ServiceTypeLoadBalancer), true},
		"it has one":          {serviceOf(corev1.ServiceTypeLoadBalancer, "192.0.2.1"), false},
		"it is not asked for": {serviceOf(corev1.ServiceTypeClusterIP), false},
	} {
		in := healthy()
		tt.change(&in)
		for _, condition := range []string{v1alpha2.ConditionReady, v1alpha2.ConditionAvailable} {
			c := meta.FindStatusCondition(Compute(in).Status.Conditions, condition)
			if hint := strings.Contains(c.Message, "Service web has no load balancer address yet"); c.Status != metav1.ConditionTrue || hint != tt.hint {
				t.Errorf("%s: %s=%s %q", name, condition, c.Status, c.Message)
			}
		}
	}
}

// TestAddresses: the status contains the sorted addresses of the load balancer, or the name in the
// cluster.
func TestAddresses(t *testing.T) {
	ip := func(value string) v1alpha2.Address {
		return v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: value}
	}
	host := func(value string) v1alpha2.Address {
		return v1alpha2.Address{Type: v1alpha2.HostnameType, Value: value}
	}
	var many []string
	for n := range 40 {
		many = append(many, fmt.Sprintf("192.0.2.%d", 100+n))
	}
	for name, tt := range map[string]struct {
		change func(*Input)
		want   []v1alpha2.Address
	}{
		"no Service yet":          {func(*Input) {}, nil},
		"inside the cluster":      {serviceOf(corev1.ServiceTypeClusterIP), []v1alpha2.Address{host("web.shop.svc")}},
		"on the nodes":            {serviceOf(corev1.ServiceTypeNodePort), []v1alpha2.Address{host("web.shop.svc")}},
		"pending":                 {serviceOf(corev1.ServiceTypeLoadBalancer), nil},
		"one":                     {serviceOf(corev1.ServiceTypeLoadBalancer, "192.0.2.1"), []v1alpha2.Address{ip("192.0.2.1")}},
		"sorted, each once":       {serviceOf(corev1.ServiceTypeLoadBalancer, "2001:db8::1", "192.0.2.1", "2001:db8::1"), []v1alpha2.Address{ip("192.0.2.1"), ip("2001:db8::1")}},
		"no more than are stored": {serviceOf(corev1.ServiceTypeLoadBalancer, many...), nil},
		"by name": {func(in *Input) {
			serviceOf(corev1.ServiceTypeLoadBalancer)(in)
			in.State.Service(in.Nginx.Name).Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com", IP: "192.0.2.1"}}
		}, []v1alpha2.Address{host("lb.example.com"), ip("192.0.2.1")}},
	} {
		in := healthy()
		tt.change(&in)
		got := Compute(in).Status.Addresses
		if strings.HasPrefix(name, "no more") {
			if len(got) != mostAddresses {
				t.Errorf("%s: %d", name, len(got))
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCertificateIsTheCause: if nginx refuses a configuration because of a missing certificate,
// Ready names the certificate.
func TestCertificateIsTheCause(t *testing.T) {
	words := instanceapi.Problem{Message: `cannot load certificate "/etc/nginx/tls/site/tls.crt": BIO_new_file() failed`}
	for name, tt := range map[string]struct {
		problem instanceapi.Problem
		reason  string
	}{
		"nginx misses the certificate": {words, v1alpha2.ReasonCertificateInvalid},
		"nginx misses something else":  {instanceapi.Problem{Message: `unknown directive "foo"`}, v1alpha2.ReasonConfigRejected},
	} {
		in := healthy()
		decided(rollout.Rejected, 0, func(d *rollout.Decision) { d.Problems = []instanceapi.Problem{tt.problem} })(&in)
		in.Nginx.Spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "shop-tls"}}
		for i := range in.State.Pods {
			running := corev1.ContainerStatus{Name: "nginx", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
			in.State.Pods[i].Status.PodIP, in.State.Pods[i].Status.ContainerStatuses = "10.0.0.1", []corev1.ContainerStatus{running}
		}
		for _, i := range in.State.Instances {
			i.Certificates = []instanceapi.Certificate{{Name: "site", Error: "the Secret does not exist"}}
		}
		conditions := Compute(in).Status.Conditions
		ready, valid := meta.FindStatusCondition(conditions, v1alpha2.ConditionReady), meta.FindStatusCondition(conditions, v1alpha2.ConditionConfigValid)
		if ready.Reason != tt.reason || valid.Reason != v1alpha2.ReasonConfigRejected {
			t.Errorf("%s: Ready %s, ConfigValid %s", name, ready.Reason, valid.Reason)
		}
		if cause := strings.HasPrefix(valid.Message, "tls site: Secret shop-tls: the Secret does not exist, so nginx cannot load"); cause != (tt.reason == v1alpha2.ReasonCertificateInvalid) {
			t.Errorf("%s: ConfigValid says %q", name, valid.Message)
		}
	}
}

// TestRefusedReload: a pod that serves the requested configuration but cannot read changed files is
// reported.
func TestRefusedReload(t *testing.T) {
	in := healthy()
	in.State.Instances["web-2"].ReloadProblems = []instanceapi.Problem{{File: "/etc/extra/a.conf", Line: 2, Message: `unknown directive "dney"`}}
	result := Compute(in)
	for _, name := range []string{v1alpha2.ConditionConfigValid, v1alpha2.ConditionReady} {
		c := meta.FindStatusCondition(result.Status.Conditions, name)
		if c.Status != metav1.ConditionFalse || c.Reason != v1alpha2.ReasonConfigRejected ||
			!strings.Contains(c.Message, `/etc/extra/a.conf:2: unknown directive "dney"; pod web-2 serves`) {
			t.Errorf("%s=%s (%s) %q", name, c.Status, c.Reason, c.Message)
		}
	}
	for _, name := range []string{v1alpha2.ConditionAvailable, v1alpha2.ConditionUpToDate} {
		if !meta.IsStatusConditionTrue(result.Status.Conditions, name) {
			t.Errorf("%s is not True", name)
		}
	}
	in.State.Instances["web-2"].Serving = "r0"
	if c := meta.FindStatusCondition(Compute(in).Status.Conditions, v1alpha2.ConditionConfigValid); c.Status != metav1.ConditionTrue {
		t.Errorf("of another revision: ConfigValid=%s %q", c.Status, c.Message)
	}
}

// TestUnreadFiles: files that nothing includes are reported, once as an event, and their names are
// not trusted.
func TestUnreadFiles(t *testing.T) {
	in := healthy()
	in.State.Instances["web-1"].Revisions = []instanceapi.Revision{
		{Revision: "r0", Unread: []string{"old.conf"}},
		{Revision: "r1", Unread: []string{"site.conf", "a\x1b[2J.conf"}},
	}
	result := Compute(in)
	c := meta.FindStatusCondition(result.Status.Conditions, v1alpha2.ConditionConfigValid)
	const want = "nginx accepted the configuration; nginx does not read these files of spec.config: site.conf: include them in nginx.conf, or remove them"
	if c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("ConfigValid=%s %q", c.Status, c.Message)
	}
	reported := func(events []Event) bool {
		return slices.ContainsFunc(events, func(e Event) bool { return e.Reason == EventConfigFilesUnread && e.Type == corev1.EventTypeWarning })
	}
	if !reported(result.Events) {
		t.Errorf("events: %v", result.Events)
	}
	in.Nginx.Status = result.Status
	if again := Compute(in); reported(again.Events) || again.Changed {
		t.Errorf("again: changed %t, events %v", again.Changed, again.Events)
	}
}
