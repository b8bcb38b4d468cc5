package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/trouble"
)

// A certificate is close to its end in its last expiryWarning, or, when it is made for
// a short life, in the last tenth of that.
const (
	expiryWarning = 14 * 24 * time.Hour
	expiryPart    = 10
)

// certificatesValid is what the pods say about the certificates of spec.tls. One pod
// in trouble is enough: the kubelet brings a Secret to each of them at its own time.
func certificatesValid(v *view) judgement {
	var invalid, expiring, silent []string
	for _, c := range v.sortedTLS() {
		found, problem := v.certificate(c.Name)
		switch {
		case problem != "":
			invalid = append(invalid, fmt.Sprintf("tls %s: Secret %s: %s", c.Name, c.SecretName, problem))
		case len(found) == 0:
			silent = append(silent, c.Name)
		default:
			if early, at := v.early(found); early {
				invalid = append(invalid, fmt.Sprintf("tls %s: the certificate in Secret %s is valid from %s on only, clients refuse it until then: use one that is valid now",
					c.Name, c.SecretName, at.UTC().Format(time.DateTime+" UTC")))
			}
			if at, soon := v.expires(found); soon {
				expiring = append(expiring, fmt.Sprintf("tls %s: the certificate in Secret %s %s %s", c.Name, c.SecretName, v.ends(at), at.UTC().Format(time.DateTime+" UTC")))
			}
		}
	}
	switch {
	case len(invalid) > 0:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonCertificateInvalid, strings.Join(invalid, "; ")}
	case len(expiring) > 0:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonCertificateExpiring, strings.Join(expiring, "; ")}
	case len(silent) > 0:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonCertificatePending, "No pod has told of the certificate yet: " + strings.Join(silent, ", ")}
	default:
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonCertificatesLoaded, "Every certificate is valid and matches its key"}
	}
}

func (v *view) sortedTLS() []v1alpha2.Certificate {
	return slices.SortedFunc(slices.Values(v.in.Nginx.Spec.TLS), func(a, b v1alpha2.Certificate) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// certificate is what the pods use under a name, and the first problem with it.
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

// clockSkew is how far the clocks of whoever made a certificate and of the operator may be apart.
const clockSkew = time.Minute

// early tells whether one of the certificates is not valid yet, and from when on it is.
func (v *view) early(found []instanceapi.Certificate) (bool, time.Time) {
	for _, c := range found {
		if c.NotBefore != nil && v.in.Now.Add(clockSkew).Before(*c.NotBefore) {
			return true, *c.NotBefore
		}
	}
	return false, time.Time{}
}

func (v *view) ends(at time.Time) string {
	if v.in.Now.After(at) {
		return "has ended, and clients refuse it since"
	}
	return "ends on"
}

// expires is the earliest end of the certificates, and whether it is close.
func (v *view) expires(found []instanceapi.Certificate) (time.Time, bool) {
	first := slices.MinFunc(found, func(a, b instanceapi.Certificate) int { return a.NotAfter.Compare(*b.NotAfter) })
	warning := expiryWarning
	if first.NotBefore != nil {
		warning = min(warning, first.NotAfter.Sub(*first.NotBefore)/expiryPart)
	}
	return *first.NotAfter, v.in.Now.After(first.NotAfter.Add(-warning))
}

// certificates is the part of the status about spec.tls. While a rotation reaches one
// pod after the other it tells of the one that ends first.
func (v *view) certificates() []v1alpha2.CertificateStatus {
	var all []v1alpha2.CertificateStatus
	for _, c := range v.sortedTLS() {
		status := v1alpha2.CertificateStatus{Name: c.Name}
		if found, _ := v.certificate(c.Name); len(found) > 0 {
			first := slices.MinFunc(found, func(a, b instanceapi.Certificate) int { return a.NotAfter.Compare(*b.NotAfter) })
			status.SerialNumber = trouble.Shorten(first.Serial, mostSerial)
			end := metav1.NewTime(first.NotAfter.Truncate(time.Second))
			status.NotAfter = &end
		}
		all = append(all, status)
	}
	return all
}
