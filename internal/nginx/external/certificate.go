package external

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/kube/owned"
)

// cert-manager (https://cert-manager.io/docs/reference/api-docs/).
const (
	KindCertificate  = "Certificate"
	CertManagerGroup = "cert-manager.io"
	KindIssuer       = "Issuer"
	// CertificateReady and CertificateIssuing are conditions of a Certificate.
	CertificateReady   = "Ready"
	CertificateIssuing = "Issuing"
)

// Certificate is the kind of cert-manager's Certificates.
func Certificate() owned.Kind {
	return owned.NewOptionalKind(schema.GroupVersion{Group: CertManagerGroup, Version: "v1"}, KindCertificate, "certificates")
}

// CertificateSpec is the spec of a Certificate.
type CertificateSpec struct {
	SecretName  string      `json:"secretName"`
	IssuerRef   IssuerRef   `json:"issuerRef"`
	DNSNames    []string    `json:"dnsNames"`
	Duration    *string     `json:"duration,omitempty"`
	RenewBefore *string     `json:"renewBefore,omitempty"`
	PrivateKey  *PrivateKey `json:"privateKey,omitempty"`
}

// IssuerRef names an issuer.
type IssuerRef struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Group string `json:"group"`
}

// PrivateKey says how the private key is generated.
type PrivateKey struct {
	Algorithm *string `json:"algorithm,omitempty"`
}

// CertificateConditions returns the conditions of a live Certificate; none if they cannot be read.
func CertificateConditions(certificate owned.Object) []metav1.Condition {
	var found struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if !read(certificate, &found) {
		return nil
	}
	return found.Status.Conditions
}
