package screen

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/plugin/view"
)

// soon is the time before the end of a certificate from which it is marked.
const soon = 14 * 24 * time.Hour

// Certificates shows certificates, the one that expires first before the others.
func (p Printer) Certificates(all []view.Certificate, forbidden []string) error {
	if len(all) == 0 {
		return p.printf("No application has a certificate in spec.tls.")
	}
	t := p.table("NAMESPACE", "APPLICATION", "CERTIFICATE", "EXPIRES IN", "SERIAL", "ISSUER", "NAMES", "SERVED ON", "PROBLEM")
	for _, c := range all {
		var at *metav1.Time
		tone := bad
		if c.NotAfter != nil {
			at = &metav1.Time{Time: *c.NotAfter}
			switch left := c.NotAfter.Sub(p.Now); {
			case left > soon:
				tone = plain
			case left > 0:
				tone = warning
			}
		}
		t.row(c.Namespace, c.Application, c.Name, p.expiry(at), c.Serial, c.Issuer, strings.Join(c.DNSNames, ","), strings.Join(c.Served, ","), c.Problem).mark(3, tone)
	}
	if err := t.print(); err != nil {
		return err
	}
	return p.forbidden(forbidden)
}
