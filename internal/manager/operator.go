// Package manager assembles the controller manager: its caches, controllers, webhook, metrics and
// probes.
package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	backupmetrics "example.com/nginx-operator/internal/backup/metrics"
	kubeapply "example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/eventlimit"
	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/kube/webhookserver"
	"example.com/nginx-operator/internal/kube/workers"
	"example.com/nginx-operator/internal/nginx/conversion"
)

// lease returns the name of the leader's lease. Controllers that run in separate processes have
// separate leaders.
func (o *Options) lease() string {
	if o.runsPods() {
		return "nginx-operator"
	}
	return "nginx-operator-backup"
}

// shutdownTimeout bounds how long running passes may take to end. It is shorter than a pod's usual
// grace period.
const shutdownTimeout = 20 * time.Second

// instanceTimeout bounds how long a pod's instance manager may take to answer. The pass waits for
// it.
const instanceTimeout = time.Second

// Scheme returns a scheme with every type that the operator reads or writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, v1alpha2.AddToScheme, backupv1alpha1.AddToScheme, cachev1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Run runs the operator until ctx is done.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	config = clientConfig(config)
	certificates := newCertificates(options)
	if err := options.findInstanceImage(ctx, config); err != nil {
		return fmt.Errorf("find the image with the instance manager: %w", err)
	}
	if err := options.findPlatform(config); err != nil {
		return fmt.Errorf("find the platform: %w", err)
	}
	content := newContent()
	mgr, err := newManager(config, options, certificates, content)
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	if err := content.watchDeleted(ctx, mgr.GetCache(), options); err != nil {
		return err
	}
	unregister, err := addControllers(ctx, mgr, options, content)
	if err != nil {
		return err
	}
	defer unregister()
	if options.ConversionWebhook {
		if err := addConversion(mgr, options, certificates); err != nil {
			return fmt.Errorf("add the conversion webhook: %w", err)
		}
	}
	if err := addServers(ctx, mgr, options, probes(mgr, options, certificates)); err != nil {
		return fmt.Errorf("serve metrics and probes: %w", err)
	}
	return mgr.Start(ctx)
}

// clientConfig returns the configuration of all clients of the operator.
func clientConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	// The API server's own priority and fairness is the limit, not the client's rate limiter.
	config.QPS, config.Burst = -1, 0
	config.Wrap(kubeapply.NewTransport)
	config.Wrap(workers.NewTransport)
	config.Wrap(pages.NewTransport)
	return config
}

// CRDName is the name of NginxOperator's CustomResourceDefinition.
const CRDName = "nginxoperators.operator.example.com"

// newCertificates returns the controller of the conversion webhook's certificate.
func newCertificates(options Options) *webhookcert.Controller {
	return &webhookcert.Controller{
		CRD:          CRDName,
		FieldManager: "nginx-operator-webhook",
		Issuer:       webhookcert.Issuer{CommonName: "nginx-operator-webhook-ca", Organization: "nginx-operator"},
		Secret:       types.NamespacedName{Namespace: options.OwnNamespace, Name: options.WebhookSecret},
		Service:      options.WebhookService,
		Hosts:        options.WebhookHosts,
		Lifetimes:    options.WebhookLifetimes,
		Clock:        clock.RealClock{},
	}
}

// addControllers adds the controllers in the options and registers their metrics. The returned
// function unregisters the metrics.
func addControllers(ctx context.Context, mgr ctrl.Manager, options Options, content *content) (func(), error) {
	var collectors []prometheus.Collector
	keys, err := addKeys(mgr, options)
	if err != nil {
		return nil, fmt.Errorf("add the operator's keys: %w", err)
	}
	if options.runs(ControllerBackup) {
		if err := addBackupControllers(ctx, mgr, options, content, keys); err != nil {
			return nil, fmt.Errorf("add the backup controllers: %w", err)
		}
		collectors = append(collectors, &backupmetrics.Collector{
			Cache: mgr.GetCache(), Elected: mgr.Elected(), Limit: options.MetricsMaxObjects, Clock: clock.RealClock{},
		})
	}
	if options.runsPods() {
		if err := addPodControllers(ctx, mgr, options, content, keys); err != nil {
			return nil, err
		}
	}
	for controller, kind := range map[string]stateKind{ControllerNginx: nginxState, ControllerCache: cacheState} {
		if options.runs(controller) {
			collectors = append(collectors, &stateCollector{kind, mgr.GetCache(), mgr.Elected(), options.MetricsMaxObjects})
		}
	}
	unregister := func() {
		for _, c := range collectors {
			metrics.Registry.Unregister(c)
		}
	}
	for _, c := range collectors {
		if err := metrics.Registry.Register(c); err != nil {
			unregister()
			return nil, fmt.Errorf("register the metrics: %w", err)
		}
	}
	return unregister, nil
}

func newManager(config *rest.Config, options Options, certificates *webhookcert.Controller, content *content) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	reads := caches.NewReadYourWrites(options.Namespaces, func() ctrlcache.Options { return options.cacheOptions(newContent()) })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:    scheme,
		Cache:     options.cacheOptions(content),
		NewCache:  reads.NewCache,
		NewClient: reads.NewClient,
		// addServers serves both within bounds.
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                options.LeaderElection,
		LeaderElectionID:              options.lease(),
		LeaderElectionNamespace:       options.OwnNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(shutdownTimeout),
		// Names are unique in each manager, but a test starts several managers in one process.
		Controller:    ctrlconfig.Controller{SkipNameValidation: new(true)},
		WebhookServer: webhookserver.New(webhookOptions(options, certificates)),
	})
	if err != nil {
		return nil, err
	}
	return eventlimit.Manager{Manager: mgr, Limiter: eventlimit.New(clock.RealClock{})}, nil
}

// webhookOptions returns options that serve the certificate in a mounted folder, reloaded when it
// changes, or the operator's own.
func webhookOptions(options Options, certificates *webhookcert.Controller) webhookserver.Options {
	o := webhookserver.Options{Port: options.WebhookPort, Leave: options.WebhookLeave, CertDir: options.WebhookCertDir}
	if o.CertDir == "" {
		o.GetCertificate = certificates.GetCertificate
	}
	return o
}

func addConversion(mgr ctrl.Manager, options Options, certificates *webhookcert.Controller) error {
	certificates.Client, certificates.Live, certificates.CertDir = mgr.GetClient(), mgr.GetAPIReader(), options.WebhookCertDir
	if err := certificates.SetupWithManager(mgr); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(conversion.Path, conversion.Webhook(conversion.LenientV1Alpha1ToHub(certificates.MixedStorage)))
	return nil
}
