//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

// TestCertificateRotation: under load, bad pairs leave the good one in place, and a new good pair
// is served.
func TestCertificateRotation(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1, true)
	before := podStates(t, s.NginxOperator)
	waitCondition(t, s.NginxOperator, v1alpha2.ConditionCertificatesValid, metav1.ConditionTrue, v1alpha2.ReasonCertificatesLoaded)
	first, second := s.issue(t), s.issue(t)
	s.rotate(t, first)
	s.waitSeen(t, first.Serial, serials)

	for name, bad := range map[string]load.Pair{
		"keys of another": {Certificate: second.Certificate, Key: first.Key},
		"no certificate":  {Certificate: "nonsense", Key: second.Key},
		"no key":          {Certificate: second.Certificate, Key: "nonsense"},
	} {
		must(t, kube.Update(t.Context(), tlsSecret(s.Namespace, "shop-tls", bad)))
		syncSecrets(t, s.NginxOperator)
		waitMessage(t, s.NginxOperator, v1alpha2.ConditionCertificatesValid, metav1.ConditionFalse, v1alpha2.ReasonCertificateInvalid, "shop-tls")
		waitSerial(t, s.NginxOperator, first.Serial)
		if t.Failed() {
			t.Fatalf("with a pair that has %s", name)
		}
	}
	s.rotate(t, second)
	waitCondition(t, s.NginxOperator, v1alpha2.ConditionCertificatesValid, metav1.ConditionTrue, v1alpha2.ReasonCertificatesLoaded)
	waitReady(t, s.NginxOperator)
	s.waitSeen(t, second.Serial, serials)
	report := s.stop(t)
	if seen := load.Names(report.Serials); len(seen) != 3 {
		t.Errorf("these certificates were seen: %v", seen)
	}
	samePods(t, s.NginxOperator, before)
}

// TestCertificateMissing: an application whose Secret is missing starts once the Secret is created.
func TestCertificateMissing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	authority, err := load.NewAuthority()
	must(t, err)
	pair, err := authority.Issue(site.Host, 90*24*time.Hour)
	must(t, err)
	nginx := create(t, namespace, "shop", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(1)), Config: filesConfig(site.Site{TLS: true}.Files("one")),
		Ports: []v1alpha2.Port{{Name: "http", Port: site.Port}, {Name: "https", Port: site.SecurePort}},
		TLS:   []v1alpha2.Certificate{{Name: site.Certificate, SecretName: "later"}},
	})
	waitMessage(t, nginx, v1alpha2.ConditionCertificatesValid, metav1.ConditionFalse, v1alpha2.ReasonCertificateInvalid, "later")
	must(t, kube.Create(t.Context(), tlsSecret(namespace, "later", pair)))
	syncSecrets(t, nginx)
	waitSerial(t, nginx, pair.Serial)
	waitReady(t, nginx)
	waitAnswer(t, nginx, "revision=one")
}

// TestCertificateAdded: a certificate can be added to an application that serves without one.
func TestCertificateAdded(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := createReady(t, namespace, "shop", saying("plain", 1))
	traffic := startTraffic(t, nginx, "plain")
	authority, err := load.NewAuthority()
	must(t, err)
	pair, err := authority.Issue(site.Host, 90*24*time.Hour)
	must(t, err)
	must(t, kube.Create(t.Context(), tlsSecret(namespace, "shop-tls", pair)))
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.TLS = []v1alpha2.Certificate{{Name: site.Certificate, SecretName: "shop-tls"}}
	})
	waitReady(t, nginx)
	traffic.stop(t)
	// The mount now exists, so the configuration that uses it is loaded without a restart.
	before := podStates(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = filesConfig(site.Site{TLS: true}.Files("secure")) })
	waitReady(t, nginx)
	waitSerial(t, nginx, pair.Serial)
	waitAnswer(t, nginx, "revision=secure")
	samePods(t, nginx, before)
}

// TestCertificateExpiring: a certificate that expires soon is reported.
func TestCertificateExpiring(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1, true)
	pair, err := s.authority.Issue(site.Host, time.Minute)
	must(t, err)
	must(t, kube.Update(t.Context(), tlsSecret(s.Namespace, "shop-tls", pair)))
	syncSecrets(t, s.NginxOperator)
	waitMessage(t, s.NginxOperator, v1alpha2.ConditionCertificatesValid, metav1.ConditionFalse, v1alpha2.ReasonCertificateExpiring, "shop-tls")
	waitSerial(t, s.NginxOperator, pair.Serial)
	s.rotate(t, s.issue(t))
	waitCondition(t, s.NginxOperator, v1alpha2.ConditionCertificatesValid, metav1.ConditionTrue, v1alpha2.ReasonCertificatesLoaded)
	waitReady(t, s.NginxOperator)
}
