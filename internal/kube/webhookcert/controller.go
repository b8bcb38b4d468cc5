// Package webhookcert creates, rotates and publishes the certificate of the conversion webhook, so
// that no other software is needed for it.
//
// The certificate is in a Secret in the operator's own namespace, which every replica watches. The
// first replica that finds it due creates or renews it, and all of them serve it from memory. The
// CA is published in the CRD's spec.conversion. The certificates themselves are created and checked
// by cert-controller. Its controller is not used, because it caches every Secret of the namespace
// and every CRD of the cluster, and replaces a CA without an overlap.
package webhookcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1ac "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// checkEvery is the maximum time between two checks of an unchanged certificate. A check costs
	// no request, since the Secret is in the cache.
	checkEvery = 6 * time.Hour
	// minCheckInterval is the minimum time between two checks.
	minCheckInterval = 100 * time.Millisecond
)

// Controller keeps the certificate valid and its CA published.
type Controller struct {
	// Client writes, and reads from the cache.
	Client client.Client
	// Live reads objects that the cache holds only in part.
	Live client.Reader
	// CRD is the name of the CustomResourceDefinition whose conversion webhook this is.
	CRD string
	// FieldManager owns caBundle. It must differ from the manager of the CRD's other fields, so that this
	// controller and the client that installs the CRD do not change each other's fields.
	FieldManager string
	// Issuer names the CA in its certificates. A CA of another name is replaced.
	Issuer Issuer
	// Secret is the Secret with the certificate.
	Secret types.NamespacedName
	// Service is the name of the webhook's Service, in the Secret's namespace.
	Service string
	// Hosts are additional names in the certificate.
	Hosts []string
	// Lifetimes are the lifetimes of new certificates.
	Lifetimes Lifetimes
	Clock     clock.PassiveClock
	// CertDir is the folder of a certificate that another controller creates and whose CA it
	// publishes. This controller then creates none, and only restores a published CA.
	CertDir string

	serving atomic.Pointer[tls.Certificate]
	// published is the last clientConfig with which API servers trusted the mounted certificate.
	published *apiextensionsv1.WebhookClientConfig
	// lastBundle is the bundle that was last written to the CRD, and publications limits how often
	// the same one is written again.
	lastBundle   []byte
	publications flowcontrol.PassiveRateLimiter
	// mixed is whether objects may be stored in several versions of the API.
	mixed atomic.Bool
	// bundle has been published since the time since, as far as this replica has observed.
	bundle []byte
	since  time.Time
}

// MixedStorage reports whether objects may be stored in several versions of the API: an upgrade has
// changed the storage version, and they have not been migrated yet.
func (c *Controller) MixedStorage() bool { return c.mixed.Load() }

// SetupWithManager registers the controller on every replica, since replicas that are not the
// leader serve the webhook too.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	always := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: c.Secret}}
	})
	builder := ctrl.NewControllerManagedBy(mgr).
		Named("webhookcert").
		Watches(&apiextensionsv1.CustomResourceDefinition{}, always).
		WithOptions(controller.Options{NeedLeaderElection: new(false)})
	if c.CertDir == "" {
		builder = builder.Watches(&corev1.Secret{}, always)
	}
	return builder.Complete(c)
}

// Reconcile renews the certificate if it is due, serves it and publishes its CA.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: c.CRD}, crd); err != nil {
		return ctrl.Result{}, fmt.Errorf("read the CRD: %w", err)
	}
	c.mixed.Store(len(crd.Status.StoredVersions) > 1)
	if c.CertDir != "" {
		return c.restore(ctx, crd)
	}
	secret := &corev1.Secret{}
	if err := c.Client.Get(ctx, c.Secret, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("secret %s does not exist: apply the operator's manifests again, which contain it", c.Secret)
		}
		return ctrl.Result{}, err
	}
	c.see(bundleOf(crd))
	material, err := c.renewed(ctx, secret)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := c.serve(material); err != nil {
		return ctrl.Result{}, err
	}
	if bytes.Equal(bundleOf(crd), material.Bundle()) {
		return ctrl.Result{RequeueAfter: c.nextCheck(material)}, nil
	}
	if !c.mayPublish(material.Bundle()) {
		return ctrl.Result{RequeueAfter: publicationInterval}, nil
	}
	if err := c.publish(ctx, crd, material); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: c.nextCheck(material)}, nil
}

// see records since when a bundle has been published.
func (c *Controller) see(bundle []byte) {
	if !bytes.Equal(c.bundle, bundle) {
		c.bundle, c.since = bundle, c.Clock.Now()
	}
}

// nextCheck returns the time until the next check of an unchanged certificate.
func (c *Controller) nextCheck(m Material) time.Duration {
	if len(m[keyNextCert]) > 0 {
		return c.Lifetimes.overlap()
	}
	return min(checkEvery, max(c.authority().untilDue(m, c.Clock.Now()), minCheckInterval))
}

func (c *Controller) authority() authority {
	return newAuthority(c.Issuer, c.Service, c.Secret.Namespace, c.Hosts, c.Lifetimes)
}

func (c *Controller) renewed(ctx context.Context, secret *corev1.Secret) (Material, error) {
	before := Material(secret.Data)
	published := bytes.Equal(c.bundle, before.Bundle()) && c.Clock.Since(c.since) >= c.Lifetimes.overlap()
	after, err := c.authority().renew(before, published, c.Clock.Now())
	if err != nil {
		return nil, err
	}
	if bytes.Equal(after[keyCert], before[keyCert]) && bytes.Equal(after.Bundle(), before.Bundle()) {
		return before, nil
	}
	updated := secret.DeepCopy()
	updated.Data = after
	// The resourceVersion lets only one of several replicas succeed. The others observe its result.
	if err := c.Client.Update(ctx, updated); err != nil {
		return nil, fmt.Errorf("store the renewed certificate: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("renewed the webhook's certificate")
	return after, nil
}

func (c *Controller) serve(m Material) error {
	pair, err := tls.X509KeyPair(m[keyCert], m[keyKey])
	if err != nil {
		return fmt.Errorf("load the serving certificate: %w", err)
	}
	c.serving.Store(&pair)
	return nil
}

// publish writes the CA to the CRD.
func (c *Controller) publish(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, m Material) error {
	if conversionClient(crd) == nil {
		return fmt.Errorf("the CRD %s has no conversion webhook: apply the operator's manifests again, or run it with --conversion-webhook=false", c.CRD)
	}
	config := apiextensionsv1ac.CustomResourceDefinition(c.CRD).WithSpec(
		apiextensionsv1ac.CustomResourceDefinitionSpec().WithConversion(
			apiextensionsv1ac.CustomResourceConversion().WithWebhook(
				apiextensionsv1ac.WebhookConversion().WithClientConfig(
					apiextensionsv1ac.WebhookClientConfig().WithCABundle(m.Bundle()...)))))
	if err := c.Client.Apply(ctx, config, client.FieldOwner(c.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("publish the CA in the CRD: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("published the webhook's CA", "crd", c.CRD)
	return nil
}

func conversionClient(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig
}

func bundleOf(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	if config := conversionClient(crd); config != nil {
		return config.CABundle
	}
	return nil
}

var errNotReady = errors.New("the webhook has no certificate yet")

// GetCertificate implements the function of tls.Config.
func (c *Controller) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := c.serving.Load(); pair != nil {
		return pair, nil
	}
	return nil, errNotReady
}

// Ready is a readiness check that fails until there is a certificate to serve.
func (c *Controller) Ready(*http.Request) error {
	if c.serving.Load() == nil {
		return errNotReady
	}
	return nil
}

// TrimCRD removes the schemas, which are most of a CRD, before it is cached.
func TrimCRD(obj any) (any, error) {
	if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.ManagedFields = nil
		crd.Annotations = nil
		crd.Spec.Versions = nil
	}
	return obj, nil
}
