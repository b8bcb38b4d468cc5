package desired

import (
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
)

// declaredCertificates returns the names of the Certificates that an application declares.
func declaredCertificates(app *application.Application) []string {
	var names []string
	for i := range app.Spec.TLS {
		if app.Spec.TLS[i].Certificate != nil {
			names = append(names, naming.Certificate(app.Name, app.Spec.TLS[i].Name))
		}
	}
	return names
}

// certificates make cert-manager fill Secrets of spec.tls.
func certificates(in *input) ([]object, error) {
	var all []object
	for i := range in.app.Spec.TLS {
		entry := &in.app.Spec.TLS[i]
		want := entry.Certificate
		if want == nil {
			continue
		}
		spec := external.CertificateSpec{
			SecretName: entry.SecretName,
			IssuerRef: external.IssuerRef{
				Name:  want.IssuerRef.Name,
				Kind:  ptr.Deref(want.IssuerRef.Kind, external.KindIssuer),
				Group: ptr.Deref(want.IssuerRef.Group, external.CertManagerGroup),
			},
			DNSNames:    hostnames(want.DNSNames),
			Duration:    (*string)(want.Duration),
			RenewBefore: (*string)(want.RenewBefore),
		}
		if want.PrivateKeyAlgorithm != nil {
			spec.PrivateKey = &external.PrivateKey{Algorithm: want.PrivateKeyAlgorithm}
		}
		all = append(all, newObject(external.Certificate(), in.meta(naming.Certificate(in.app.Name, entry.Name)), spec))
	}
	return all, nil
}
