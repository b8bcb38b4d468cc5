package check

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/nginx-operator/api/v1alpha2"
)

const runbook = "see docs/runbooks/conversion-webhook.md"

// expiresSoon is the time before the end of a CA at which the operator should have replaced it.
const expiresSoon = 30 * 24 * time.Hour

// converts reports whether a webhook converts NginxOperators.
func converts(c *Cluster) bool {
	conversion := definition(c).Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter
}

// authority checks the CA of the webhook's certificate.
func authority(c *Cluster) Result {
	const name = "webhook's CA"
	var bundle []byte
	if w := definition(c).Spec.Conversion.Webhook; w != nil && w.ClientConfig != nil {
		bundle = w.ClientConfig.CABundle
	}
	last, err := lastExpiry(bundle)
	switch {
	case err != nil:
		return Result{name, Failed, err.Error(), runbook}
	case last.IsZero():
		return Result{name, Failed, "the operator has not published it", runbook}
	case !c.Now.Before(last):
		return Result{name, Failed, "it expired on " + last.UTC().Format(time.DateOnly), runbook}
	case last.Sub(c.Now) < expiresSoon:
		return Result{name, Warning, "it expires on " + last.UTC().Format(time.DateOnly) + ", and the operator has not replaced it", runbook}
	}
	return Result{name, OK, "valid until " + last.UTC().Format(time.DateOnly), ""}
}

// lastExpiry returns when the last certificate of a bundle expires; zero: it has none.
func lastExpiry(bundle []byte) (time.Time, error) {
	var last time.Time
	for {
		block, rest := pem.Decode(bundle)
		if block == nil {
			return last, nil
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return last, fmt.Errorf("a certificate of the bundle is damaged: %w", err)
		}
		if certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
		bundle = rest
	}
}

// conversion checks that the webhook answers.
func conversion(c *Cluster) Result {
	const name = "conversion webhook"
	switch err := c.Conversion; {
	case err == nil:
		return Result{name, OK, "converts v1alpha1", ""}
	case apierrors.IsForbidden(err):
		return unread(name, err)
	default:
		return Result{name, Failed, "v1alpha1 cannot be written: " + err.Error(), runbook}
	}
}

// Limit is the number of applications that are read.
const Limit = 5000

// reachable checks that the operator reaches the pods of all applications.
func reachable(c *Cluster) Result {
	const name = "applications"
	if err := c.Unread[Applications]; err != nil {
		return unread(name, err)
	}
	var unreachable, notReady []string
	for i := range c.Applications {
		nginx := &c.Applications[i]
		where := nginx.Namespace + "/" + nginx.Name
		if hasReason(nginx, v1alpha2.ReasonInstanceUnreachable) {
			unreachable = append(unreachable, where)
		}
		if !meta.IsStatusConditionTrue(nginx.Status.Conditions, v1alpha2.ConditionReady) {
			notReady = append(notReady, where)
		}
	}
	switch {
	case len(unreachable) > 0:
		return Result{name, Warning, "the operator does not reach pods of " + list(unreachable), "admit the operator to port 9113: see docs/installation.md, Service meshes and NetworkPolicies"}
	case len(notReady) > 0:
		return Result{name, Warning, fmt.Sprintf("%d of %d are not ready: %s", len(notReady), len(c.Applications), list(notReady)), "kubectl nginx list -A"}
	}
	return Result{name, OK, fmt.Sprintf("%d, all ready", len(c.Applications)), ""}
}

func hasReason(nginx *v1alpha2.NginxOperator, reason string) bool {
	for _, condition := range nginx.Status.Conditions {
		if condition.Reason == reason {
			return true
		}
	}
	return false
}
