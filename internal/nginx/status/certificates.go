package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/nginx/observe"
)

// A certificate is expiring in its last expiryWarning, or, if it is short-lived, in the last tenth of its life.
const (
	expiryWarning = 14 * 24 * time.Hour
	expiryPart    = 10
)

// certificatesValidChecks report what the pods say about the certificates of spec.tls. One pod with a bad certificate
// is enough: the kubelets bring a Secret to each pod at a different time.
var certificatesValidChecks = []check{certificatesInvalid, certificatesExpiring, certificatesPending, certificatesLoaded}

func certificatesInvalid(v *view) *verdict {
	var invalid []string
	for _, c := range v.sortedTLS() {
		found, problem := v.certificate(c.Name)
		if problem != "" {
			invalid = append(invalid, fmt.Sprintf("tls %s: Secret %s: %s", c.Name, c.SecretName, problem))
		} else if early, at := v.early(found); early {
			invalid = append(invalid, fmt.Sprintf("tls %s: the certificate in Secret %s is not valid before %s; clients reject it until then: use one that is valid now",
				c.Name, c.SecretName, at.UTC().Format(time.DateTime+" UTC")))
		}
	}
	if len(invalid) == 0 {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonCertificateInvalid, strings.Join(invalid, "; "))
}

func certificatesExpiring(v *view) *verdict {
	var expiring []string
	for _, c := range v.sortedTLS() {
		found, _ := v.certificate(c.Name)
		if len(found) == 0 {
			continue
		}
		if at, soon := v.expires(found); soon {
			expiring = append(expiring, fmt.Sprintf("tls %s: the certificate in Secret %s %s", c.Name, c.SecretName, v.expiry(at)))
		}
	}
	if len(expiring) == 0 {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonCertificateExpiring, strings.Join(expiring, "; "))
}

func certificatesPending(v *view) *verdict {
	var pending []string
	for _, c := range v.sortedTLS() {
		if found, _ := v.certificate(c.Name); len(found) == 0 {
			pending = append(pending, c.Name)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return unknownVerdict(v1alpha2.ReasonCertificatePending, "No pod has reported the certificate yet: "+strings.Join(pending, ", "))
}

func certificatesLoaded(*view) *verdict {
	return trueVerdict(v1alpha2.ReasonCertificatesLoaded, "Every certificate is valid and matches its key")
}

func (v *view) sortedTLS() []v1alpha2.Certificate {
	return slices.SortedFunc(slices.Values(v.in.Nginx.Spec.TLS), func(a, b v1alpha2.Certificate) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// certificate returns what the pods use under a name, and the first problem with it.
func (v *view) certificate(name string) (found []instanceapi.Certificate, problem string) {
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		instance := v.in.State.Instances[pod.Name]
		if instance == nil || !observe.Running(pod) {
			continue
		}
		for _, c := range instance.Certificates {
			if c.Name != name {
				continue
			}
			if c.Error != "" && problem == "" {
				problem = c.Error
			}
			if c.NotAfter != nil {
				found = append(found, c)
			}
		}
	}
	return found, problem
}

// clockSkew is how far the clocks of the issuer of a certificate and of the operator may differ.
const clockSkew = time.Minute

// early reports whether one of the certificates is not valid yet, and when it will be.
func (v *view) early(found []instanceapi.Certificate) (bool, time.Time) {
	for _, c := range found {
		if c.NotBefore != nil && v.in.Now.Add(clockSkew).Before(*c.NotBefore) {
			return true, *c.NotBefore
		}
	}
	return false, time.Time{}
}

// expiry describes when a certificate expires, and what to do.
func (v *view) expiry(at time.Time) string {
	day := at.UTC().Format(time.DateTime + " UTC")
	if v.in.Now.After(at) {
		return "expired on " + day + "; clients reject it: renew the Secret"
	}
	return "expires on " + day + ": renew it"
}

// expires returns the earliest expiry of the certificates, and whether it is close.
func (v *view) expires(found []instanceapi.Certificate) (time.Time, bool) {
	first := slices.MinFunc(found, func(a, b instanceapi.Certificate) int { return a.NotAfter.Compare(*b.NotAfter) })
	warning := expiryWarning
	if first.NotBefore != nil {
		warning = min(warning, first.NotAfter.Sub(*first.NotBefore)/expiryPart)
	}
	return *first.NotAfter, v.in.Now.After(first.NotAfter.Add(-warning))
}

// certificates returns the part of the status about spec.tls. While a rotation reaches the pods one after the other,
// it shows the certificate that expires first.
func (v *view) certificates() []v1alpha2.CertificateStatus {
	var all []v1alpha2.CertificateStatus
	for _, c := range v.sortedTLS() {
		status := v1alpha2.CertificateStatus{Name: c.Name}
		if found, _ := v.certificate(c.Name); len(found) > 0 {
			first := slices.MinFunc(found, func(a, b instanceapi.Certificate) int { return a.NotAfter.Compare(*b.NotAfter) })
			status.SerialNumber = messages.Shorten(first.Serial, mostSerial)
			end := metav1.NewTime(first.NotAfter.Truncate(time.Second))
			status.NotAfter = &end
		}
		all = append(all, status)
	}
	return all
}
