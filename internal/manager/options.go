package manager

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/nginx-operator/internal/kube/podsettings"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/kube/webhookcert"
)

const (
	defaultWebhookLeave = 5 * time.Second
	// maxWebhookLeave leaves running passes time to end before shutdownTimeout.
	maxWebhookLeave = 15 * time.Second
)

// The operator's controllers.
const (
	// ControllerNginx reconciles NginxOperators.
	ControllerNginx = "nginx"
	// ControllerBackup backs them up.
	ControllerBackup = "backup"
	// ControllerCache reconciles NginxCaches.
	ControllerCache = "cache"
)

// Options are the operator's settings.
type Options struct {
	// Version is the operator's version.
	Version string
	// Controllers are the controllers to run: ControllerNginx, ControllerBackup and ControllerCache, or some of them.
	Controllers []string
	// BackupImage contains the program of the backup jobs; empty: InstanceImage.
	BackupImage string
	// BackupJobs bounds how many of these jobs run at a time.
	BackupJobs int
	// BackupListingPeriod is the interval at which the destination of each policy is listed for
	// backups without an object; 0: only after changes.
	BackupListingPeriod time.Duration
	// Namespaces are the namespaces that the operator is restricted to; empty: all namespaces.
	Namespaces []string
	// DefaultImage is the nginx image of NginxOperators without spec.image.
	DefaultImage string
	// InstanceImage contains the instance manager that is copied into every nginx pod; empty: the
	// image that the operator runs from.
	InstanceImage string
	// ImagePullSecrets are names of Secrets with credentials for the registries of all images. Each has to exist in every
	// namespace with applications or backups: the operator reads no Secrets.
	ImagePullSecrets []string
	// Platform is podsettings.Kubernetes, podsettings.OpenShift, or podsettings.Auto (the default) for the one that is found.
	Platform string
	// RenewPods updates running pods to the template and the instance manager of this release, one
	// NginxOperator at a time.
	RenewPods bool
	// OwnPod is the name of the operator's pod.
	OwnPod string
	// OwnNamespace is the namespace that the operator runs in. It contains the operator's lease and
	// the webhook's Secret.
	OwnNamespace string
	// ClusterDomain is the DNS domain of the cluster; empty: that of the operator's own pod.
	ClusterDomain string
	// Concurrency is the number of objects of a kind that are reconciled concurrently.
	Concurrency int

	LeaderElection bool

	MetricsAddress string
	// MetricsSecure serves metrics over TLS, to clients that TokenReview and SubjectAccessReview
	// allow.
	MetricsSecure bool
	// MetricsMaxObjects bounds the number of objects with series of their own.
	MetricsMaxObjects int
	HealthAddress     string

	ConversionWebhook bool
	WebhookPort       int
	WebhookService    string
	WebhookSecret     string
	// WebhookHosts are additional names in the webhook's certificate.
	WebhookHosts []string
	// WebhookCertDir contains tls.crt and tls.key if another component, such as the Operator
	// Lifecycle Manager, creates the certificate and publishes its CA; empty: the operator does
	// both.
	WebhookCertDir string
	// WebhookLifetimes are the lifetimes of the certificates that the operator creates.
	WebhookLifetimes webhookcert.Lifetimes
	// WebhookLeave is the time for which the webhook continues to serve after the operator is
	// requested to stop.
	WebhookLeave time.Duration

	// OrderKeySecret is the Secret, in OwnNamespace, with the keys that sign the orders to pods and mark backup jobs, and
	// OrderKeyLifetime is when a key is replaced.
	OrderKeySecret   string
	OrderKeyLifetime time.Duration

	LogLevel string
}

// AddFlags registers a flag for each option. It reads defaults from the environment
// (RELATED_IMAGE_NGINX, POD_NAMESPACE) with getenv.
func (o *Options) AddFlags(flags *pflag.FlagSet, getenv func(string) string) {
	image := getenv("RELATED_IMAGE_NGINX")
	if image == "" {
		image = "docker.io/library/nginx:1.30"
	}
	flags.StringSliceVar(&o.Controllers, "controllers", []string{ControllerNginx, ControllerBackup}, "controllers to run: nginx, backup and cache, or some of them")
	flags.StringVar(&o.BackupImage, "backup-image", getenv("RELATED_IMAGE_BACKUP"),
		"image with nginx-backup (environment: RELATED_IMAGE_BACKUP; default: the value of --instance-image)")
	flags.IntVar(&o.BackupJobs, "backup-jobs", 10, "maximum number of backup jobs that run at the same time")
	flags.DurationVar(&o.BackupListingPeriod, "backup-listing-period", time.Hour,
		"how often to list the destination of each backup policy, to find backups without an object; 0: only after changes")
	flags.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to watch, comma-separated (default: all of them)")
	flags.StringVar(&o.DefaultImage, "default-image", image, "nginx image for NginxOperators without spec.image (environment: RELATED_IMAGE_NGINX)")
	flags.StringVar(&o.InstanceImage, "instance-image", getenv("RELATED_IMAGE_INSTANCE"),
		"image with nginx-instance (environment: RELATED_IMAGE_INSTANCE; default: the image of the operator's own pod)")
	flags.StringSliceVar(&o.ImagePullSecrets, "image-pull-secrets", splitList(getenv("IMAGE_PULL_SECRETS")),
		"names of Secrets, in the namespaces of the applications, for the registries of all images of their pods and of backup jobs, comma-separated (environment: IMAGE_PULL_SECRETS)")
	flags.StringVar(&o.Platform, "platform", cmp.Or(getenv("PLATFORM"), podsettings.Auto),
		"kubernetes, openshift (which assigns the ids of the pods' processes) or auto, which finds it out (environment: PLATFORM)")
	flags.BoolVar(&o.RenewPods, "renew-pods", false,
		"roll out the template and the instance manager of this release to running pods, one NginxOperator at a time, until one fails (default: with the next rollout of each NginxOperator)")
	flags.StringVar(&o.OwnPod, "own-pod", getenv("POD_NAME"), "name of the operator's pod (environment: POD_NAME)")
	flags.StringVar(&o.OwnNamespace, "own-namespace", getenv("POD_NAMESPACE"), "namespace that the operator runs in (environment: POD_NAMESPACE)")
	flags.IntVar(&o.Concurrency, "concurrency", 16, "number of objects of a kind to reconcile at the same time")
	flags.StringVar(&o.ClusterDomain, "cluster-domain", "", "DNS domain of the cluster (default: that of the operator's own pod, or cluster.local)")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "enable leader election")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "address of the metrics; 0 disables them")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics over TLS, with authentication and authorization")
	flags.IntVar(&o.MetricsMaxObjects, "metrics-max-objects", 2000, "maximum number of NginxOperators with metric series of their own")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&o.ConversionWebhook, "conversion-webhook", true, "serve the conversion between the API's versions")
	flags.IntVar(&o.WebhookPort, "webhook-port", 9443, "port of the conversion webhook")
	flags.StringVar(&o.WebhookService, "webhook-service", "nginx-operator-webhook", "name of the conversion webhook's Service")
	flags.StringVar(&o.WebhookSecret, "webhook-secret", "nginx-operator-webhook-cert", "name of the Secret with the conversion webhook's certificate")
	flags.StringSliceVar(&o.WebhookHosts, "webhook-hosts", nil, "further host names of the conversion webhook, for an operator that runs outside the cluster")
	flags.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "",
		"folder with tls.crt and tls.key of the conversion webhook, if another program issues the certificate and publishes its CA (default: the operator does both)")
	flags.DurationVar(&o.WebhookLifetimes.Serving, "webhook-cert-lifetime", webhookcert.DefaultLifetime, "lifetime of the conversion webhook's certificate, which is renewed before its last sixth")
	flags.DurationVar(&o.WebhookLifetimes.CA, "webhook-ca-lifetime", webhookcert.DefaultCALifetime, "lifetime of the CA of the conversion webhook's certificate")
	flags.DurationVar(&o.WebhookLeave, "webhook-leave", defaultWebhookLeave, "how long the conversion webhook keeps serving after SIGTERM")
	flags.StringVar(&o.OrderKeySecret, "order-key-secret", "nginx-operator-order-key", "name of the Secret with the keys that sign the operator's orders to pods")
	flags.DurationVar(&o.OrderKeyLifetime, "order-key-lifetime", signingkey.DefaultLifetime, "time after which the key that signs the operator's orders to pods is replaced")
	flags.StringVar(&o.LogLevel, "log-level", "info", "info, debug or error")
}

// splitList returns the entries of a comma-separated list.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// podSettings returns what every pod gets. The platform has been found.
func (o *Options) podSettings() podsettings.Settings {
	return podsettings.Settings{ImagePullSecrets: o.ImagePullSecrets, PlatformAssignsIDs: o.Platform == podsettings.OpenShift}
}

// runs reports whether a controller is to be run.
func (o *Options) runs(controller string) bool { return slices.Contains(o.Controllers, controller) }

// runsPods reports whether a controller is to be run whose kind has nginx pods.
func (o *Options) runsPods() bool { return o.runs(ControllerNginx) || o.runs(ControllerCache) }

// readsOrderKeys reports whether the operator's keys are in a Secret. Only an operator without nginx pods can do without.
func (o *Options) readsOrderKeys() bool {
	return o.runsPods() || o.OwnNamespace != "" && o.OrderKeySecret != ""
}

// Validate returns an error that names each invalid option.
func (o *Options) Validate() error {
	var errs []error
	if o.OwnNamespace == "" && (o.LeaderElection || o.ConversionWebhook) {
		errs = append(errs, errors.New("--own-namespace (or POD_NAMESPACE) is needed for leader election and the conversion webhook"))
	}
	if o.InstanceImage == "" && (o.OwnPod == "" || o.OwnNamespace == "") {
		errs = append(errs, errors.New("--instance-image is needed outside a pod: the image with nginx-instance"))
	}
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--concurrency is %d: it must be at least 1", o.Concurrency))
	}
	if o.DefaultImage == "" {
		errs = append(errs, errors.New("--default-image must not be empty"))
	}
	errs = append(errs, o.validatePods(), o.validateControllers(), o.validateWebhook(), o.validateOrderKeys())
	for _, namespace := range o.Namespaces {
		if strings.TrimSpace(namespace) == "" {
			errs = append(errs, errors.New("--namespaces has an empty entry"))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) validatePods() error {
	if o.Platform = cmp.Or(o.Platform, podsettings.Auto); !podsettings.Valid(o.Platform) {
		return fmt.Errorf("--platform is %q: it must be %s", o.Platform, strings.Join(podsettings.Platforms(), ", "))
	}
	for _, name := range o.ImagePullSecrets {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return fmt.Errorf("--image-pull-secrets has the entry %q, which is not the name of a Secret: %s", name, problems[0])
		}
	}
	return nil
}

func (o *Options) validateOrderKeys() error {
	if !o.readsOrderKeys() {
		return nil
	}
	if o.OwnNamespace == "" {
		return errors.New("--own-namespace (or POD_NAMESPACE) is needed for the key that signs orders to pods")
	}
	if o.OrderKeySecret == "" {
		return errors.New("--order-key-secret must not be empty")
	}
	if o.OrderKeyLifetime < signingkey.MinLifetime {
		return fmt.Errorf("--order-key-lifetime is %s: it must be at least %s, so that pods learn a new key in time", o.OrderKeyLifetime, signingkey.MinLifetime)
	}
	return nil
}

func (o *Options) validateControllers() error {
	if len(o.Controllers) == 0 {
		return errors.New("--controllers is empty: name nginx, backup or cache")
	}
	for _, name := range o.Controllers {
		if !slices.Contains([]string{ControllerNginx, ControllerBackup, ControllerCache}, name) {
			return fmt.Errorf("--controllers names %q: valid names are nginx, backup and cache", name)
		}
	}
	if o.BackupJobs < 1 && o.runs(ControllerBackup) {
		return fmt.Errorf("--backup-jobs is %d: it must be at least 1", o.BackupJobs)
	}
	if o.BackupListingPeriod < 0 {
		return fmt.Errorf("--backup-listing-period is %s: it must not be negative", o.BackupListingPeriod)
	}
	return nil
}

func (o *Options) validateWebhook() error {
	if !o.ConversionWebhook {
		return nil
	}
	if o.WebhookLeave < 0 || o.WebhookLeave > maxWebhookLeave {
		return fmt.Errorf("--webhook-leave is %s: it must be between 0 and %s, so that the operator stops in time", o.WebhookLeave, maxWebhookLeave)
	}
	if err := o.WebhookLifetimes.Validate(); err != nil {
		return fmt.Errorf("--webhook-cert-lifetime, --webhook-ca-lifetime: %w", err)
	}
	return nil
}
