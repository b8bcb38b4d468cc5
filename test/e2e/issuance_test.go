//go:build e2e && exposure

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

// authorityObjects are an authority and the issuer that issues its certificates.
const authorityObjects = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self-signed}
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority}
spec:
  isCA: true
  commonName: authority
  secretName: authority
  privateKey: {algorithm: ECDSA}
  issuerRef: {name: self-signed}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ca}
spec:
  ca: {secretName: authority}
`

// TestExposedCertificate: cert-manager issues the certificate that the pods serve, and a new one is served by the same
// pods.
func TestExposedCertificate(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	apply(t, namespace, authorityObjects)
	nginx := create(t, namespace, "shop", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(1)), Config: filesConfig(site.Site{TLS: true}.Files("r0")),
		Ports: []v1alpha2.Port{{Name: "http", Port: site.Port}, {Name: "https", Port: site.SecurePort}},
		TLS: []v1alpha2.Certificate{{Name: site.Certificate, SecretName: "site-tls", Certificate: &v1alpha2.IssuedCertificate{
			IssuerRef: v1alpha2.IssuerReference{Name: "absent"}, DNSNames: []v1alpha2.Hostname{site.Host}, PrivateKeyAlgorithm: new("ECDSA"),
		}}},
	})
	waitMessage(t, nginx, v1alpha2.ConditionCertificatesValid, metav1.ConditionFalse, v1alpha2.ReasonCertificateInvalid, "site-tls")
	eventually(t, "Exposed names the Certificate that is not issued", func() error { return unissued(t, nginx) })
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.TLS[0].Certificate.IssuerRef.Name = "ca" })
	waitExposed(t, nginx)
	waitReady(t, nginx)
	waitCondition(t, nginx, v1alpha2.ConditionCertificatesValid, metav1.ConditionTrue, v1alpha2.ReasonCertificatesLoaded)
	checkServed(t, nginx)

	before, old := podStates(t, nginx), nginx.Status.Certificates[0].SerialNumber
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.TLS[0].Certificate.DNSNames = append(s.TLS[0].Certificate.DNSNames, "www.site.test")
	})
	waitExposed(t, nginx)
	syncSecrets(t, nginx)
	eventually(t, "the new certificate is served", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		if c := nginx.Status.Certificates; len(c) != 1 || c[0].SerialNumber == old {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.TLS[0].Certificate = nil })
	waitNotExposed(t, nginx, optional(external.Certificate(), namespace, naming.Certificate("shop", site.Certificate)))
	waitReady(t, nginx)
	samePods(t, nginx, before)
}

// unissued returns nil if Exposed says what to do about the Certificate.
func unissued(t *testing.T, nginx *v1alpha2.NginxOperator) error {
	t.Helper()
	must(t, get(t, nginx))
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionExposed)
	if c == nil || c.Status == metav1.ConditionTrue || !strings.Contains(c.Message, "(kubectl describe certificate shop-site)") {
		return fmt.Errorf("it is %+v", c)
	}
	t.Logf("with an absent issuer: %s (%s): %s", c.Status, c.Reason, c.Message)
	return nil
}

// checkServed checks that clients that trust only the authority get answers over TLS, with the certificate that the status
// names.
func checkServed(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: "site-tls"}}
	must(t, get(t, secret))
	options := site.Secure(site.Site{TLS: true}.Options(10, serviceAddress(t, nginx, site.SecurePort)), string(secret.Data["ca.crt"]))
	options.Revisions = []string{"r0"}
	clients, err := incluster.Start(t.Context(), clientset, nginx.Namespace, "load", loadImage, options)
	must(t, err)
	report, err := clients.Stop(t.Context())
	must(t, err)
	t.Logf("%s", report)
	must(t, get(t, nginx))
	if serial := nginx.Status.Certificates[0].SerialNumber; report.Failed > 0 || report.Requests == 0 || !slices.Equal(load.Names(report.Serials), []string{serial}) {
		t.Errorf("the certificate with the serial number %s was not served to each of %d requests: %v", serial, report.Requests, report.Serials)
	}
}
