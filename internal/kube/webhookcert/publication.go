package webhookcert

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The same CA may be published publicationBurst times at once, which is more than an upgrade by the
// Operator Lifecycle Manager needs, and then once per publicationInterval. This limits the cost of
// a controller that keeps removing the CA.
const (
	publicationBurst    = 6
	publicationInterval = 30 * time.Second
)

// mayPublish reports whether this CA may be written to the CRD now. A CA that differs from the last
// one always may; the same one is rate-limited.
func (c *Controller) mayPublish(bundle []byte) bool {
	if !bytes.Equal(bundle, c.lastBundle) {
		c.lastBundle = bundle
		return true
	}
	if c.publications == nil {
		c.publications = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/publicationInterval.Seconds()), publicationBurst, c.Clock)
	}
	return c.publications.TryAccept()
}

// restore writes the CA of the mounted certificate to the CRD again. The Operator Lifecycle Manager
// replaces the CRD with that of the bundle at each upgrade, and publishes a CA only seconds later:
// https://github.com/operator-framework/operator-lifecycle-manager,
// createOrUpdateConversionWebhook.
func (c *Controller) restore(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (ctrl.Result, error) {
	certificate, err := os.ReadFile(filepath.Join(c.CertDir, keyCert))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read the mounted certificate: %w", err)
	}
	live := conversionClient(crd)
	now := c.Clock.Now()
	if trusts(live, certificate, now) {
		c.published = live.DeepCopy()
		return ctrl.Result{}, nil
	}
	restored := restoredClient(live, c.published, certificate, now)
	if restored == nil {
		return ctrl.Result{}, nil
	}
	if !c.mayPublish(restored.CABundle) {
		return ctrl.Result{RequeueAfter: publicationInterval}, nil
	}
	err = c.replaceClient(ctx, crd.ResourceVersion, restored)
	if apierrors.IsConflict(err) {
		// The CRD has changed, so its watch triggers another pass.
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("restore the CA in the CRD: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("restored the webhook's CA", "crd", c.CRD)
	return ctrl.Result{}, nil
}

// restoredClient returns the clientConfig that makes API servers trust the certificate again, or
// nil if the CRD must stay as it is. A CRD without a CA gets the last clientConfig that worked. One
// with another CA for the same Service is in the middle of a rotation and gets both CAs, until the
// new certificate is mounted. Any other CRD belongs to another installation.
func restoredClient(live, last *apiextensionsv1.WebhookClientConfig, certificate []byte, now time.Time) *apiextensionsv1.WebhookClientConfig {
	if live == nil || !trusts(last, certificate, now) {
		return nil
	}
	if len(live.CABundle) == 0 {
		return last
	}
	if hostOf(live) != hostOf(last) {
		return nil
	}
	both := live.DeepCopy()
	both.CABundle = append(append(both.CABundle, '\n'), signers(last, certificate, now)...)
	return both
}

// trusts reports whether an API server with this clientConfig trusts a certificate (PEM).
func trusts(config *apiextensionsv1.WebhookClientConfig, certificate []byte, now time.Time) bool {
	return config != nil && verifies(config.CABundle, hostOf(config), certificate, now)
}

// signers returns those CAs of a clientConfig that have signed a certificate.
func signers(config *apiextensionsv1.WebhookClientConfig, certificate []byte, now time.Time) []byte {
	var all [][]byte
	for block, rest := pem.Decode(config.CABundle); block != nil; block, rest = pem.Decode(rest) {
		if ca := pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}); verifies(ca, hostOf(config), certificate, now) {
			all = append(all, ca)
		}
	}
	return bytes.Join(all, nil)
}

func verifies(bundle []byte, host string, certificate []byte, now time.Time) bool {
	block, rest := pem.Decode(certificate)
	if block == nil {
		return false
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	intermediates.AppendCertsFromPEM(rest)
	if !roots.AppendCertsFromPEM(bundle) {
		return false
	}
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates, CurrentTime: now})
	return err == nil
}

// hostOf returns the name that an API server expects in the webhook's certificate.
func hostOf(config *apiextensionsv1.WebhookClientConfig) string {
	switch {
	case config.Service != nil:
		return config.Service.Name + "." + config.Service.Namespace + ".svc"
	case config.URL != nil:
		if u, err := url.Parse(*config.URL); err == nil {
			return u.Hostname()
		}
	}
	return ""
}

// replaceClient writes the clientConfig of a CRD with this resourceVersion. It updates the whole
// CRD, which the cache does not hold: the validators of OLM's bundles reject the permission to
// patch CRDs.
func (c *Controller) replaceClient(ctx context.Context, resourceVersion string, config *apiextensionsv1.WebhookClientConfig) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Live.Get(ctx, types.NamespacedName{Name: c.CRD}, crd); err != nil {
		return err
	}
	if crd.ResourceVersion != resourceVersion {
		// The CRD has changed, so its watch triggers another pass.
		return nil
	}
	crd.Spec.Conversion.Webhook.ClientConfig = config
	return c.Client.Update(ctx, crd, client.FieldOwner(c.FieldManager))
}
